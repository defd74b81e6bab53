package shaders

import (
	"math/bits"
	"strconv"
)

// LayerNorm selects the norm by mean and variance, with a bias or without.
type LayerNorm struct {
	Bias    bool
	Threads int // of a workgroup; 0 is 256
}

// ChooseLayerNorm returns the variant for rows of n elements on a device with workgroups of up to maxThreads threads. Fewer
// than 256 are for rows whose sums then go through no more roundings than those of 256 do, which the bound of a layer norm
// counts; where so few cannot do that, the variant asks for 256.
func ChooseLayerNorm(bias bool, n, maxThreads int) LayerNorm {
	const usual = 256
	v := LayerNorm{Bias: bias}
	if maxThreads >= usual || maxThreads < minNormThreads {
		return v
	}
	roundings := func(threads int) int { return ceilDiv(uint32(n), uint32(threads)) - 1 + bits.Len(uint(threads-1)) }
	if threads := powerOfTwo(maxThreads); roundings(threads) <= roundings(usual) {
		v.Threads = threads
	}
	return v
}

// Program implements Variant.
func (v LayerNorm) Program() Program {
	p := Program{
		File:     "layernorm.wgsl",
		Entry:    "layernorm",
		Defines:  map[string]string{},
		Bindings: []Access{Read, Read, ReadWrite, Uniform}, // src, w, dst, params
	}
	if v.Threads > 0 {
		p.Defines["WG_SIZE"] = strconv.Itoa(v.Threads) + "u"
	}
	if v.Bias {
		p.Defines["BIAS"] = "1"
		p.Bindings = []Access{Read, Read, ReadWrite, Read, Uniform} // src, w, dst, bias, params
	}
	return p
}

// LayerNormParams: offsets and strides are in f32 elements.
type LayerNormParams struct {
	Rows      uint32
	N         uint32
	SrcOff    uint32 // [rows, n]
	SrcStride uint32
	DstOff    uint32 // [rows, n]
	DstStride uint32
	WOff      uint32 // [n]
	BiasOff   uint32 // [n], read with Bias alone
	EpsBits   uint32 // bits of the f32 epsilon
	Pad0      uint32
	Pad1      uint32
	Pad2      uint32
}

// Grid returns the workgroups: one a row.
func (p LayerNormParams) Grid() Grid { return Fold(int(p.Rows)) }
