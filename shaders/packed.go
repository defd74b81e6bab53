package shaders

import (
	"maps"
	"slices"
	"strconv"
)

// PackedForm says how a format whose blocks are cut into units of 32 elements is packed: gpu/pack.go has the layout,
// unit.tmpl reads it.
type PackedForm struct {
	Low    int    // bits of a code among the quants: 4 or 2
	High   int    // bits above them, in front of the scales: 0, 1 or 2
	Runs   int    // scales of a unit: 1, or 2 of 16 elements each
	Center int    // what is subtracted from a code
	Min    bool   // scale * code - minimum
	Levels string // table of the numbers that codes stand for, or "" where a code is its number
	Scales string // layout of the scales
	Words  int    // of the scales of a group, without the high bits
}

// PackedGroup is the number of elements, and PackedLanes of units, of a group; those of Q8_0 have GroupQ8_0 elements.
const (
	PackedGroup = 1024
	GroupQ8_0   = 512
	PackedLanes = 32
)

var packedForms = map[string]PackedForm{
	"Q4_0":   {Low: 4, Runs: 1, Center: 8, Scales: "HALF", Words: 16},
	"Q5_0":   {Low: 4, High: 1, Runs: 1, Center: 16, Scales: "HALF", Words: 16},
	"IQ4_NL": {Low: 4, Runs: 1, Levels: "IQ4", Scales: "HALF", Words: 16},
	"MXFP4":  {Low: 4, Runs: 1, Levels: "FP4", Scales: "EXPONENT", Words: 8},
	"Q4_1":   {Low: 4, Runs: 1, Min: true, Scales: "HALVES", Words: 32},
	"Q5_1":   {Low: 4, High: 1, Runs: 1, Min: true, Scales: "HALVES", Words: 32},
	"Q4_K":   {Low: 4, Runs: 1, Min: true, Scales: "BYTES_MIN", Words: 20},
	"Q5_K":   {Low: 4, High: 1, Runs: 1, Min: true, Scales: "BYTES_MIN", Words: 20},
	"IQ4_XS": {Low: 4, Runs: 1, Levels: "IQ4", Scales: "BYTE", Words: 10},
	"Q6_K":   {Low: 4, High: 2, Runs: 2, Center: 32, Scales: "BYTES", Words: 18},
	"Q3_K":   {Low: 2, High: 1, Runs: 2, Center: 4, Scales: "BYTES", Words: 18},
	"Q2_K":   {Low: 2, Runs: 2, Min: true, Scales: "NIBBLES_MIN", Words: 20},
}

// FormOf returns the form of a format (ggml's name), and whether it has one.
func FormOf(format string) (PackedForm, bool) {
	f, ok := packedForms[format]
	return f, ok
}

// PackedFormats lists the formats that matrix products read packed: those that have a form, and Q8_0.
func PackedFormats() []string {
	return append(slices.Sorted(maps.Keys(packedForms)), "Q8_0")
}

// QuantWords returns the words of a group's quants.
func (f PackedForm) QuantWords() int { return PackedGroup * f.Low / 32 }

// ScaleWords returns the words of a group's high bits and scales.
func (f PackedForm) ScaleWords() int { return PackedGroup*f.High/32 + f.Words }

// define adds what the templates ask for.
func (f PackedForm) define(defines map[string]string) {
	for name, n := range map[string]int{"LOW_BITS": f.Low, "HIGH_BITS": f.High, "RUNS": f.Runs} {
		defines[name] = strconv.Itoa(n)
	}
	defines["QUANTS"] = "vec" + strconv.Itoa(f.Low) + "<u32>"
	defines["QUANT_WORDS"] = strconv.Itoa(f.QuantWords()) + "u"
	defines["SCALE_WORDS"] = strconv.Itoa(f.ScaleWords()) + "u"
	defines["SCALES_FROM"] = strconv.Itoa(PackedGroup*f.High/32) + "u"
	defines["SCALES_"+f.Scales] = "1"
	if f.Center > 0 {
		defines["CENTER"] = strconv.Itoa(f.Center) + ".0"
	}
	if f.Min {
		defines["MINIMUM"] = "1"
	}
	if f.Levels != "" {
		defines["BY_LEVEL"] = "1"
		defines["LEVELS_"+f.Levels] = "1"
	}
}

// packedDefine selects the reader of a packed weight's elements.
func packedDefine(format string, defines map[string]string) {
	defines["PACKED"] = "1"
	defines["QUANTS"] = "vec4<u32>"
	if f, ok := FormOf(format); ok {
		defines["BLOCKS"] = "1"
		f.define(defines)
	}
}
