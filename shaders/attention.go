package shaders

import "strconv"

// Attention selects causal attention with grouped KV heads, with a sink for each head or without.
type Attention struct{ Sinks bool }

// MaxHeadDim is the largest head that the attention kernel takes: it keeps one output row in workgroup memory.
const MaxHeadDim = 1024

// Program implements Variant.
func (v Attention) Program() Program {
	p := Program{
		File:     "attention.wgsl",
		Entry:    "attention",
		Defines:  map[string]string{"MAX_HEAD_DIM": strconv.Itoa(MaxHeadDim) + "u"},
		Bindings: []Access{Read, Read, Read, Read, ReadWrite, Uniform}, // q, kc, vc, pos, dst, params
	}
	if v.Sinks {
		p.Defines["SINKS"] = "1"
		p.Bindings = []Access{Read, Read, Read, Read, ReadWrite, Read, Uniform} // q, kc, vc, pos, dst, sinks, params
	}
	return p
}

// AttentionParams: row r of dst, head h, is softmax(scores)·V over cache rows max(0, pos[r]-Window+1)..pos[r], where
// scores are q·Kᵀ·scale, capped where there is a softcap; head h reads KV head h / (NHead/NKV). NHead is a multiple of
// NKV and HeadDim at most MaxHeadDim.
type AttentionParams struct {
	Rows        uint32
	NHead       uint32
	NKV         uint32
	HeadDim     uint32
	QOff        uint32 // [rows, nHead*headDim]
	QStride     uint32
	KOff        uint32 // [positions, nKV*headDim]
	KStride     uint32
	VOff        uint32 // [positions, nKV*headDim]
	VStride     uint32
	PosOff      uint32 // [rows] u32
	DstOff      uint32 // [rows, nHead*headDim]
	DstStride   uint32
	ScaleBits   uint32 // bits of the f32 that multiplies q·k
	Positions   uint32 // rows of the cache, at least 1
	Window      uint32 // positions that a token sees, itself included; 0: all
	SoftcapBits uint32 // bits of the f32 limit of a score; 0: none
	SinksOff    uint32 // [nHead], read with Sinks alone
	Pad0        uint32
	Pad1        uint32
}

// Grid returns the workgroups: one for each row and head.
func (p AttentionParams) Grid() Grid { return Fold(int(p.Rows) * int(p.NHead)) }
