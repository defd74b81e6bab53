package gguf

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// everyValue is one entry of each type, with the extremes of the integers.
var everyValue = []KV{
	{"u8", ValueUint8, uint8(255)},
	{"i8", ValueInt8, int8(-128)},
	{"u16", ValueUint16, uint16(65535)},
	{"i16", ValueInt16, int16(-32768)},
	{"u32", ValueUint32, uint32(math.MaxUint32)},
	{"i32", ValueInt32, int32(math.MinInt32)},
	{"i32+", ValueInt32, int32(7)},
	{"f32", ValueFloat32, float32(1e-5)},
	{"yes", ValueBool, true},
	{"no", ValueBool, false},
	{"s", ValueString, "llama"},
	{"empty", ValueString, ""},
	{"u64", ValueUint64, uint64(math.MaxUint64)},
	{"i64", ValueInt64, int64(math.MinInt64)},
	{"i64+", ValueInt64, int64(1)},
	{"f64", ValueFloat64, 0.1},
	{"inf", ValueFloat64, math.Inf(-1)},
	{"[]u8", ValueArray, []uint8{0, 255}},
	{"[]i8", ValueArray, []int8{-1, 1}},
	{"[]u16", ValueArray, []uint16{1}},
	{"[]i16", ValueArray, []int16{-1}},
	{"[]u32", ValueArray, []uint32{1, 2, 3}},
	{"[]i32", ValueArray, []int32{4, 5}},
	{"[]f32", ValueArray, []float32{0.5, -2}},
	{"[]bool", ValueArray, []bool{true, false}},
	{"[]s", ValueArray, []string{"", "x", "▁the"}},
	{"[]u64", ValueArray, []uint64{math.MaxUint64}},
	{"[]i64", ValueArray, []int64{math.MaxInt64, 0}},
	{"[]f64", ValueArray, []float64{0.5}},
	{"[]none", ValueArray, []uint32{}},
	{"[][]", ValueArray, []any{[]uint8{1}, []string{"a"}, []any{[]any{[]bool{true}}}}},
}

func valuesFile(t *testing.T) *File {
	t.Helper()
	w := NewWriter()
	for _, kv := range everyValue {
		w.Set(kv.Key, kv.Value)
	}
	var b bytes.Buffer
	if _, err := w.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	f, err := NewFile(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestLookup(t *testing.T) {
	f := valuesFile(t)
	for _, kv := range everyValue {
		v, typ, ok := f.Lookup(kv.Key)
		if !ok || typ != kv.Type || !cmp.Equal(v, kv.Value) {
			t.Errorf("%s: %v %v %v, want %v %v", kv.Key, v, typ, ok, kv.Value, kv.Type)
		}
		if !f.Has(kv.Key) {
			t.Errorf("Has(%q) is false", kv.Key)
		}
	}
	if v, _, ok := f.Lookup("nowhere"); ok || v != nil || f.Has("nowhere") {
		t.Error("found a key that is not there")
	}
}

// Each getter takes exactly the keys listed for it, with these results; every other key is refused by name.
func TestGetters(t *testing.T) {
	f := valuesFile(t)
	for _, g := range []struct {
		name string
		get  func(key string) (any, error)
		want map[string]any
	}{
		{"String", func(k string) (any, error) { return f.String(k) }, map[string]any{"s": "llama", "empty": ""}},
		{"Bool", func(k string) (any, error) { return f.Bool(k) }, map[string]any{"yes": true, "no": false}},
		{"Uint", func(k string) (any, error) { return f.Uint(k) }, map[string]any{
			"u8": uint64(255), "u16": uint64(65535), "u32": uint64(math.MaxUint32), "u64": uint64(math.MaxUint64),
			"i32+": uint64(7), "i64+": uint64(1),
		}},
		{"Float", func(k string) (any, error) { return f.Float(k) }, map[string]any{
			"f32": float64(float32(1e-5)), "f64": 0.1, "inf": math.Inf(-1),
		}},
		{"Strings", func(k string) (any, error) { return f.Strings(k) },
			map[string]any{"[]s": []string{"", "x", "▁the"}}},
		{"Uints", func(k string) (any, error) { return f.Uints(k) }, map[string]any{
			"[]u8": []uint64{0, 255}, "[]u16": []uint64{1}, "[]u32": []uint64{1, 2, 3}, "[]i32": []uint64{4, 5},
			"[]u64": []uint64{math.MaxUint64}, "[]i64": []uint64{math.MaxInt64, 0}, "[]none": []uint64{},
		}},
		{"Floats", func(k string) (any, error) { return f.Floats(k) }, map[string]any{
			"[]f32": []float32{0.5, -2}, "[]f64": []float32{0.5},
		}},
	} {
		t.Run(g.name, func(t *testing.T) {
			for _, kv := range everyValue {
				got, err := g.get(kv.Key)
				if want, ok := g.want[kv.Key]; ok {
					if err != nil || !cmp.Equal(got, want) {
						t.Errorf("%s: %v, %v, want %v", kv.Key, got, err, want)
					}
					continue
				}
				var ke *KeyError
				if !errors.As(err, &ke) || ke.Key != kv.Key || ke.Want == "" || ke.Got == "" ||
					errors.Is(err, ErrMissing) {
					t.Errorf("%s: %v, %v, want a KeyError that names it", kv.Key, got, err)
				}
			}
			_, err := g.get("nowhere")
			var ke *KeyError
			if !errors.As(err, &ke) || !errors.Is(err, ErrMissing) ||
				!strings.Contains(err.Error(), `"nowhere" is missing`) {
				t.Errorf("absent key: %v, want ErrMissing", err)
			}
		})
	}
}

func TestKeyErrorText(t *testing.T) {
	f := valuesFile(t)
	f.Path = "m.gguf"
	for _, c := range []struct {
		key  string
		want string
	}{
		{"nowhere", `gguf: m.gguf: key "nowhere" is missing, want a non-negative integer`},
		{"i32", `gguf: m.gguf: key "i32" is int32 -2147483648, want a non-negative integer`},
		{"s", `gguf: m.gguf: key "s" is string "llama", want a non-negative integer`},
		{"[]s", `gguf: m.gguf: key "[]s" is an array of 3 string, want a non-negative integer`},
		{"[][]", `gguf: m.gguf: key "[][]" is an array of 3 array, want a non-negative integer`},
	} {
		if _, err := f.Uint(c.key); err == nil || err.Error() != c.want {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
	}
	long := KV{"k", ValueString, strings.Repeat("x", 1000)}
	if d := long.describe(); d != "a string of 1000 bytes" {
		t.Errorf("long string is described as %.60s", d)
	}
}
