package gguf

import (
	"math"
	"testing"
)

// bitsAWeight is what each type's blocks come to, computed from the parts of the block rather than from its size: the
// scales and minima, then the bits of each element.
var bitsAWeight = map[Type]float64{
	F32: 32, F16: 16, BF16: 16, F64: 64, I8: 8, I16: 16, I32: 32, I64: 64,
	Q4_0: 4 + 16./32, Q4_1: 4 + 32./32, Q5_0: 5 + 16./32, Q5_1: 5 + 32./32, Q8_0: 8 + 16./32, Q8_1: 8 + 32./32,
	Q2_K: 2 + 16*8./256 + 32./256, Q3_K: 3 + 12*8./256 + 16./256, Q4_K: 4 + 12*8./256 + 32./256,
	Q5_K: 5 + 12*8./256 + 32./256, Q6_K: 6 + 16*8./256 + 16./256, Q8_K: 8 + 32./256 + 16*16./256,
	IQ2_XXS: 2.0625, IQ2_XS: 2.3125, IQ2_S: 2.5625, IQ3_XXS: 3.0625, IQ3_S: 3.4375, IQ1_S: 1.5625, IQ1_M: 1.75,
	IQ4_NL: 4.5, IQ4_XS: 4.25, TQ1_0: 1.6875, TQ2_0: 2.0625, MXFP4: 4 + 8./32, NVFP4: 4 + 4*8./64,
	Q1_0: 1 + 16./128, Q2_0: 2 + 16./64,
}

func TestTypes(t *testing.T) {
	removed := map[Type]string{
		4: "Q4_2", 5: "Q4_3", 31: "Q4_0_4_4", 32: "Q4_0_4_8", 33: "Q4_0_8_8",
		36: "IQ4_NL_4_4", 37: "IQ4_NL_4_8", 38: "IQ4_NL_8_8",
	}
	names := map[string]Type{}
	for typ := Type(0); typ <= 42; typ++ {
		name := typ.String()
		if other, dup := names[name]; dup || name == "" {
			t.Errorf("type %d has the name %q of type %d", typ, name, other)
		}
		names[name] = typ
		if want, ok := removed[typ]; ok {
			if name != want || typ.Known() || !typ.Removed() || typ.Block() != 0 || typ.BlockBytes() != 0 {
				t.Errorf("type %d: %s, known %v, removed %v, want the removed %s", typ, name, typ.Known(),
					typ.Removed(), want)
			}
			if _, err := typ.RowBytes(256); err == nil {
				t.Errorf("%s: RowBytes gave no error", name)
			}
			continue
		}
		want, ok := bitsAWeight[typ]
		if !ok || !typ.Known() || typ.Removed() {
			t.Errorf("type %d (%s): known %v, in the test's table %v", typ, name, typ.Known(), ok)
			continue
		}
		if got := float64(typ.BlockBytes()) * 8 / float64(typ.Block()); got != want {
			t.Errorf("%s: %v bits a weight, want %v", name, got, want)
		}
	}
	for _, typ := range []Type{43, 100, math.MaxUint32} {
		if typ.Known() || typ.Removed() || typ.Block() != 0 || typ.BlockBytes() != 0 {
			t.Errorf("%s has a layout", typ)
		}
		if _, err := typ.RowBytes(32); err == nil {
			t.Errorf("%s: RowBytes gave no error", typ)
		}
	}
	if s := Type(99).String(); s != "type 99" {
		t.Errorf("type 99 is called %q", s)
	}
}

func TestRowBytes(t *testing.T) {
	for _, c := range []struct {
		typ  Type
		n    uint64
		want uint64
		ok   bool
	}{
		{F32, 0, 0, true},
		{F32, 3, 12, true},
		{F16, 3, 6, true},
		{Q4_0, 32, 18, true},
		{Q4_0, 4096, 2304, true},
		{Q4_0, 31, 0, false},
		{Q4_0, 33, 0, false},
		{Q6_K, 512, 420, true},
		{Q6_K, 32, 0, false},
		{F32, math.MaxUint64 / 4, math.MaxUint64 - 3, true},
		{F32, math.MaxUint64/4 + 1, 0, false},
		{I8, math.MaxUint64, math.MaxUint64, true},
		{Q4_0, math.MaxUint64 - 31, (math.MaxUint64/32 + 0) * 18, true},
		{F64, 1 << 61, 0, false},
	} {
		got, err := c.typ.RowBytes(c.n)
		if got != c.want || (err == nil) != c.ok {
			t.Errorf("%s row of %d: %d, %v, want %d, ok %v", c.typ, c.n, got, err, c.want, c.ok)
		}
	}
}

func TestValueTypeNames(t *testing.T) {
	want := []string{"uint8", "int8", "uint16", "int16", "uint32", "int32", "float32", "bool", "string", "array",
		"uint64", "int64", "float64"}
	for i, name := range want {
		if got := ValueType(i).String(); got != name {
			t.Errorf("value type %d is %q, want %q", i, got, name)
		}
	}
	if got := ValueType(13).String(); got != "value type 13" {
		t.Errorf("value type 13 is %q", got)
	}
}
