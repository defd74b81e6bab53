package shaders

import "strconv"

// AttentionTile selects the attention for many rows, a tile of queries and a tile of keys at a time. Q, K, V and dst begin
// at multiples of four words, and so do their rows.
type AttentionTile struct {
	HeadDim     int  // a multiple of 4, or 8 with Half, up to MaxFastHeadDim
	Cols        int  // keys of a tile, 64 or 128
	Depth       int  // elements of a row in workgroup memory at a time, 16 or 32
	Values      int  // values in workgroup memory at a time, 8 or 16
	Half        bool // the cache holds halves
	ExactHalves bool // the device's own conversion flushes subnormals
	Direct      bool // there is one split, which writes the output
	Sinks       bool // with Direct
}

// TileRows is how many queries a workgroup of AttentionTile has.
const TileRows = 64

// Program implements Variant.
func (v AttentionTile) Program() Program {
	p := Program{File: "attention_tile.wgsl", Entry: "attention_tile"}
	p.Defines = fastDefines(v.HeadDim, v.Half, v.ExactHalves, v.Direct)
	for name, n := range map[string]int{
		"COLS": v.Cols, "DEPTH4": v.Depth / 4, "VALUE_ROWS": v.Values, "STAGE": v.stage(), "UNITS_HELD": (v.HeadDim + 63) / 64,
	} {
		p.Defines[name] = strconv.Itoa(n) + "u"
	}
	p.Bindings = attentionBindings(p.Defines, v.Sinks)
	return p
}

// stage returns the vectors that queries and keys, or weights and values, take in workgroup memory.
func (v AttentionTile) stage() int {
	keys := TileRows*v.Depth/4 + v.Cols*(v.Depth/4+1)
	values := 16*(TileRows/4+1) + v.Values*v.HeadDim/4
	return max(keys, values)
}

// Storage returns the workgroup memory it needs, in bytes.
func (v AttentionTile) Storage() int { return 16*v.stage() + 16*TileRows }

// Tiles returns how many tiles the queries of a KV head make.
func (v AttentionTile) Tiles(p AttentionParams) int {
	return (int(p.Rows)*int(p.NHead/p.NKV) + TileRows - 1) / TileRows
}

// Grid returns the workgroups: one for each KV head, split and tile of its queries.
func (v AttentionTile) Grid(p AttentionParams) Grid {
	return Fold(int(p.NKV) * int(p.Splits) * v.Tiles(p))
}
