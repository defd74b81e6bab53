package shaders

import "strconv"

// Attention selects causal attention with grouped KV heads for any head and any alignment, with a sink for each head or
// without.
type Attention struct{ Sinks, Half bool }

// MaxHeadDim is the largest head that the attention kernel takes: it keeps one output row in workgroup memory.
const MaxHeadDim = 1024

// Storage returns the workgroup memory it needs at most, in bytes.
func (v Attention) Storage() int { return 4 * (2*128 + MaxHeadDim) }

// Program implements Variant.
func (v Attention) Program() Program {
	p := Program{File: "attention.wgsl", Entry: "attention", Defines: halfDefine(v.Half)}
	p.Defines["MAX_HEAD_DIM"] = strconv.Itoa(MaxHeadDim) + "u"
	p.Bindings = attentionBindings(p.Defines, v.Sinks)
	return p
}

// attentionBindings returns q, kc, vc, pos, dst, perhaps sinks, params.
func attentionBindings(defines map[string]string, sinks bool) []Access {
	if sinks {
		defines["SINKS"] = "1"
		return []Access{Read, Read, Read, Read, ReadWrite, Read, Uniform}
	}
	return []Access{Read, Read, Read, Read, ReadWrite, Uniform}
}

// AttentionParams: row r of dst, head h, is softmax(scores)·V over cache rows max(0, pos[r]-Window+1)..pos[r], where
// scores are q·Kᵀ·scale, capped where there is a softcap; head h reads KV head h / (NHead/NKV). NHead is a multiple of
// NKV and HeadDim at most MaxHeadDim. Offsets and strides are in words.
type AttentionParams struct {
	Rows        uint32
	NHead       uint32
	NKV         uint32
	HeadDim     uint32
	QOff        uint32 // [rows, nHead*headDim]
	QStride     uint32
	KOff        uint32 // [positions, nKV*headDim], or half as many words
	KStride     uint32
	VOff        uint32
	VStride     uint32
	PosOff      uint32 // [rows] u32
	DstOff      uint32 // [rows, nHead*headDim]
	DstStride   uint32
	ScaleBits   uint32 // bits of the f32 that multiplies q·k
	Positions   uint32 // rows of the cache, at least 1
	Window      uint32 // positions that a token sees, itself included; 0: all
	SoftcapBits uint32 // bits of the f32 limit of a score; 0: none
	SinksOff    uint32 // [nHead], read with sinks alone
	Splits      uint32 // of the positions, at least 1 where a kernel splits them
	Parts       uint32 // of a KV head's query heads, in AttentionSplit
}

// Grid returns the workgroups: one for each row and head.
func (p AttentionParams) Grid() Grid { return Fold(int(p.Rows) * int(p.NHead)) }

// attentionVariants lists the ways to run an attention, over heads whose rows fill the kernels' steps and heads whose do not.
func attentionVariants() []Variant {
	var vs []Variant
	for _, half := range []bool{false, true} {
		for _, sinks := range []bool{false, true} {
			vs = append(vs, Attention{Sinks: sinks, Half: half})
			for _, d := range []int{24, 64, 80, 128, 192, 256} {
				vs = append(vs, AttentionSplit{HeadDim: d, Heads: 4, Half: half, Direct: true, Sinks: sinks})
				tile := AttentionTile{HeadDim: d, Cols: 64, Depth: 16, Values: 8, Half: half, Direct: true, Sinks: sinks}
				wide := tile
				wide.Cols, wide.Depth, wide.Values = 128, 32, 16
				vs = append(vs, tile, wide)
			}
		}
		vs = append(vs,
			AttentionSplit{HeadDim: 128, Heads: 8, Half: half},
			AttentionTile{HeadDim: 128, Cols: 128, Depth: 16, Values: 16, Half: half})
	}
	vs = append(vs,
		AttentionSplit{HeadDim: 128, Heads: 8, Half: true, ExactHalves: true},
		AttentionTile{HeadDim: 128, Cols: 128, Depth: 16, Values: 16, Half: true, ExactHalves: true})
	for _, d := range []int{4, 128, 256} {
		vs = append(vs, AttentionMerge{HeadDim: d}, AttentionMerge{HeadDim: d, Sinks: true})
	}
	return vs
}
