package shaders

import "strconv"

// MatVecPacked selects the matrix product for few rows of x with a weight whose units, 16 bytes each, lie so that
// neighbouring threads read neighbouring ones.
type MatVecPacked struct {
	Format      string
	Threads     int    // of a workgroup: 32, 64 or 128
	Rows        int    // weight rows that a workgroup multiplies; even where Act is set, as many for each 32 threads of Blocks
	Tokens      int    // rows of x that it multiplies them with, at most
	Parts       bool   // outputs go to up to three places
	Act         string // "silu" or "gelu_tanh": the weight is gate over up, and act(gate) * up is made as well
	ExactHalves bool   // the device's own conversion takes subnormal halves for zero
}

// Blocks tells whether a unit is a block of 32 elements, which 32 threads share rows of; see blocks.tmpl.
func (v MatVecPacked) Blocks() bool {
	_, ok := FormOf(v.Format)
	return ok
}

// lanes returns how many threads share a row.
func (v MatVecPacked) lanes() int {
	if v.Blocks() {
		return PackedLanes
	}
	return v.Threads
}

// staged returns how many blocks of x are staged at a time: with several rows of x their values take the registers, and each
// thread has one.
func (v MatVecPacked) staged() int {
	if v.Tokens == 1 {
		return 2 * PackedLanes
	}
	return PackedLanes
}

// Storage returns the workgroup memory it needs, in bytes.
func (v MatVecPacked) Storage() int {
	bytes := 4 * v.Rows * v.Tokens * v.lanes()
	if v.Blocks() {
		bytes += 16*9*v.staged() + 4*16 // x, and levels
	}
	return bytes
}

// Program implements Variant.
func (v MatVecPacked) Program() Program {
	defines := formatDefine(v.Format)
	sizes := map[string]int{"WG_SIZE": v.Threads, "ROWS": v.Rows, "TOKENS": v.Tokens, "LANES": v.lanes()}
	defines["QUANTS"], defines["SCALE_TYPE"] = "vec4<u32>", "vec2<u32>"
	if v.Blocks() {
		packedDefine(v.Format, defines)
		defines["SCALE_TYPE"] = "u32"
		sizes["UNITS"], sizes["TILE_VECTORS"] = v.staged(), 9*v.staged()
		sizes["LOADS"] = v.staged() * v.Rows / v.Threads
	}
	for name, n := range sizes {
		defines[name] = strconv.Itoa(n) + "u"
	}
	if v.Tokens == 1 {
		defines["ONE_TOKEN"] = "1"
	}
	if v.ExactHalves {
		defines["EXACT_HALVES"] = "1"
	}
	bindings := []Access{Read, Read, Read, ReadWrite, Uniform} // w, scales, x, dst, params
	if v.Parts || v.Act != "" {
		bindings = []Access{Read, Read, Read, ReadWrite, ReadWrite, ReadWrite, Uniform} // three of dst
	}
	if v.Parts {
		defines["PARTS"] = "1"
	}
	if v.Act != "" {
		defines["GATED"] = "1"
		for k, d := range actDefine(v.Act) {
			defines[k] = d
		}
	}
	return Program{File: "matvec_packed.wgsl", Entry: "matvec_packed", Defines: defines, Bindings: bindings}
}

// MatVecPackedParams: offsets and strides of x are in vectors of four elements, the others in elements.
type MatVecPackedParams struct {
	Units      uint32 // of a weight row
	M          uint32 // outputs, or pairs of gate and up
	K4         uint32 // row length of x
	Tokens     uint32 // rows of x
	XOff4      uint32
	XStride4   uint32
	DstOff     uint32
	DstStride  uint32
	First1     uint32 // first output of the second place, or the number of gate rows
	Dst1Off    uint32
	Dst1Stride uint32
	First2     uint32 // first output of the third place
	Dst2Off    uint32
	Dst2Stride uint32
	Row0       uint32 // weight row of output 0
	Pad        uint32
}

// Grid returns the workgroups.
func (v MatVecPacked) Grid(p MatVecPackedParams) Grid {
	outputs := uint32(v.Rows)
	if v.Act != "" {
		outputs /= 2
	}
	return Fold(ceilDiv(p.M, outputs))
}
