package shaders

import "strconv"

// AttentionMerge selects what puts the splits of an attention together.
type AttentionMerge struct {
	HeadDim int // a multiple of 4 up to MaxFastHeadDim
	Sinks   bool
}

const mergeThreads = 256

// Storage returns the workgroup memory it needs, in bytes.
func (v AttentionMerge) Storage() int { return 4*mergeThreads + 16*mergeThreads + 4*mergeThreads }

// Program implements Variant.
func (v AttentionMerge) Program() Program {
	p := Program{
		File:  "attention_merge.wgsl",
		Entry: "attention_merge",
		Defines: map[string]string{
			"HEAD_DIM": strconv.Itoa(v.HeadDim) + "u",
			"BANDS":    strconv.Itoa(bands(mergeThreads, v.HeadDim/4)) + "u",
		},
		Bindings: []Access{Read, ReadWrite, Uniform}, // found, dst, params
	}
	if v.Sinks {
		p.Defines["SINKS"] = "1"
		p.Bindings = []Access{Read, ReadWrite, Read, Uniform} // found, dst, sinks, params
	}
	return p
}

// Words returns the size of what the splits leave, in words.
func (v AttentionMerge) Words(p AttentionParams) int {
	return int(p.Rows) * int(p.NHead) * int(p.Splits) * (v.HeadDim + 4)
}

// Grid returns the workgroups: one for each row and head.
func (v AttentionMerge) Grid(p AttentionParams) Grid { return p.Grid() }
