package shaders

import "strconv"

// AttentionSplit selects the attention for few rows, which splits the positions among workgroups. K and V begin at
// multiples of four words, and so do their rows.
type AttentionSplit struct {
	HeadDim     int  // a multiple of 4, or 8 with Half, up to MaxFastHeadDim
	Heads       int  // query heads of a workgroup, 4 or 8
	Half        bool // the cache holds halves
	ExactHalves bool // the device's own conversion flushes subnormals
	Direct      bool // there is one split, which writes the output
	Sinks       bool // with Direct
}

// MaxFastHeadDim is the largest head that the fast attention kernels take.
const MaxFastHeadDim = 256

// MaxSplits is how many splits AttentionMerge takes at most: it has a thread for each.
const MaxSplits = 256

// SplitTile is how many positions AttentionSplit works on at a time: no split is smaller.
const SplitTile = 64

const (
	splitThreads = 128
	splitTeam    = 8
)

// splitHeld is how many fours of values a thread has on their way while keys are multiplied, at most: 16 vectors.
const splitHeld = 4

// Program implements Variant.
func (v AttentionSplit) Program() Program {
	p := Program{File: "attention_split.wgsl", Entry: "attention_split"}
	p.Defines = fastDefines(v.HeadDim, v.Half, v.ExactHalves, v.Direct)
	p.Defines["HEADS"] = strconv.Itoa(v.Heads) + "u"
	b := bands(splitThreads, v.HeadDim/unitElements(v.Half))
	p.Defines["BANDS"] = strconv.Itoa(b) + "u"
	p.Defines["HELD"] = strconv.Itoa(min(splitHeld, splitThreads/splitTeam/b)) + "u"
	p.Bindings = attentionBindings(p.Defines, v.Sinks)
	return p
}

// Storage returns the workgroup memory it needs, in bytes.
func (v AttentionSplit) Storage() int {
	units := v.HeadDim / unitElements(v.Half)
	queries := v.Heads * ((units + splitTeam - 1) / splitTeam) * splitTeam * unitElements(v.Half) / 4
	teams := splitThreads / splitTeam
	partial := splitTeam * (v.Heads*teams + 1)
	return 16*(queries+partial+v.Heads*teams) + 4*(v.Heads*teams+v.Heads)
}

// Grid returns the workgroups: one for each row, part of a KV head's query heads, KV head and split.
func (v AttentionSplit) Grid(p AttentionParams) Grid {
	return Fold(int(p.Rows) * int(p.Parts) * int(p.NKV) * int(p.Splits))
}

// unitElements is how many elements of the cache 16 bytes hold.
func unitElements(half bool) int {
	if half {
		return 8
	}
	return 4
}

// fastDefines are what the fast attention kernels share.
func fastDefines(headDim int, half, exact, direct bool) map[string]string {
	defines := halfDefine(half)
	defines["HEAD_DIM"] = strconv.Itoa(headDim) + "u"
	if exact {
		defines["EXACT_HALVES"] = "1"
	}
	if direct {
		defines["DIRECT"] = "1"
	}
	return defines
}

// bands returns how many groups of n threads share out rows of n vectors: a power of two, at most a quarter of a tile.
func bands(threads, n int) int {
	b := 1
	for 2*b*n <= threads && 2*b <= SplitTile/4 {
		b *= 2
	}
	return b
}
