package shaders

import (
	"fmt"
	"io/fs"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
)

var tile = Tile{64, 64, 16}

var formats = []string{
	"F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0",
	"Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ4_NL", "IQ4_XS", "MXFP4",
}

// withoutComments keeps a test from finding in a comment what it looks for in code.
func withoutComments(wgsl string) string {
	return regexp.MustCompile(`//.*`).ReplaceAllString(wgsl, "")
}

func TestEveryVariantPreprocesses(t *testing.T) {
	seen := map[Variant]bool{}
	for _, v := range Variants(formats...) {
		t.Run(fmt.Sprintf("%T%v", v, v), func(t *testing.T) {
			if seen[v] {
				t.Fatal("listed twice")
			}
			seen[v] = true
			p := v.Program()
			s, err := Source(p)
			if err != nil {
				t.Fatal(err)
			}
			code := withoutComments(s.WGSL)
			if !regexp.MustCompile(`@compute @workgroup_size\([0-9u, ]+\)\s*fn ` + p.Entry + `\(`).MatchString(code) {
				t.Errorf("no entry point %s with a plain workgroup size", p.Entry)
			}
			if i := strings.IndexByte(code, '#'); i >= 0 {
				t.Errorf("a directive is left over: %.40q", code[i:])
			}
			// A name in capitals that is not declared is a macro that nobody defined.
			for _, name := range regexp.MustCompile(`\b[A-Z][A-Z0-9_]{2,}\b`).FindAllString(code, -1) {
				if !strings.Contains(code, "const "+name+":") {
					t.Errorf("%s is neither a macro nor a constant", name)
				}
			}
			for _, name := range []string{
				"weight_at", "wg_sum", "wg_max", "inv_rms", "act", "gated", "pair", "sigmoid", "softcap", "tanh_precise",
			} {
				called := regexp.MustCompile(`\b` + name + `\(`).MatchString(code)
				if n := strings.Count(code, "fn "+name+"("); n > 1 || n == 0 && called {
					t.Errorf("%s is called and declared %d times", name, n)
				}
			}
		})
	}
}

// The main file's lines keep their numbers, whatever it includes.
func TestLinesOfKernelsKeepTheirNumbers(t *testing.T) {
	for _, v := range Variants(formats...) {
		p := v.Program()
		s, err := Source(p)
		if err != nil {
			t.Fatal(err)
		}
		text, err := fs.ReadFile(templates, p.File)
		if err != nil {
			t.Fatal(err)
		}
		out := strings.Split(s.WGSL, "\n")
		for i, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
			if file, n := s.Origin(i + 1); file != p.File || n != i+1 {
				t.Fatalf("%s: line %d is said to come from %s:%d", p.File, i+1, file, n)
			}
			// A binding that this variant does not have leaves its line empty; TestBindingsMatchTheTemplates counts them.
			if strings.HasPrefix(line, "@group") && out[i] != "" && !strings.HasPrefix(out[i], line[:20]) {
				t.Errorf("%s:%d: %q became %q", p.File, i+1, line, out[i])
			}
		}
	}
}

func TestBindingsMatchTheTemplates(t *testing.T) {
	decl := regexp.MustCompile(`@group\(0\) @binding\((\d+)\) var<(storage, read|storage, read_write|uniform)>`)
	access := map[string]Access{"storage, read": Read, "storage, read_write": ReadWrite, "uniform": Uniform}
	for _, v := range Variants(formats...) {
		p := v.Program()
		s, err := Source(p)
		if err != nil {
			t.Fatal(err)
		}
		var got []Access
		for i, m := range decl.FindAllStringSubmatch(withoutComments(s.WGSL), -1) {
			if m[1] != fmt.Sprint(i) {
				t.Errorf("%s: binding %s in place %d", p.File, m[1], i)
			}
			got = append(got, access[m[2]])
		}
		want := p.Bindings
		if v == (RMSNormBatch{}) {
			want = append(want, Read) // residual is declared for the other entry point
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s %+v: bindings (-program +template):\n%s", p.File, v, d)
		}
	}
}

// snake spells a Go field as its WGSL twin: KCStride is kc_stride.
func snake(name string) string {
	if name == "NKV" {
		return "n_kv"
	}
	var b strings.Builder
	rs := []rune(name)
	for i, r := range rs {
		upper := unicode.IsUpper(r)
		if i > 0 && upper && (unicode.IsLower(rs[i-1]) || i+1 < len(rs) && unicode.IsLower(rs[i+1])) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

func TestParamsMatchTheTemplates(t *testing.T) {
	tests := []struct {
		params  any
		variant Variant
	}{
		{FusedResidualRMSNormParams{}, FusedResidualRMSNorm{}},
		{FusedResidualRMSNormParams{}, FusedResidualRMSNorm{Tee: true}},
		{EmbedParams{}, Embed{Format: "F32"}},
		{MatVecParams{}, MatVec{"Q4_0"}},
		{PanelParams{}, Panel{Format: "Q4_0", Width: 64}},
		{PanelParams{}, Panel{Format: "F32", Width: 64, Gather: true}},
		{PanelParams{}, Panel{Format: "Q4_0", Packed: true, Width: 128}},
		{MatMulPanelParams{}, MatMulPanel{tile}},
		{MatMulSumParams{}, MatMulSum{}},
		{MatVecPackedParams{}, MatVecPacked{Format: "Q4_0", Threads: 64, Rows: 2, Tokens: 1}},
		{EmbedParams{}, Embed{"Q4_0", true}},
		{ExpertMatMulParams{}, ExpertMatMul{"Q4_0", true}},
		{ExpertMatMulParams{}, ExpertMatMul{Format: "Q4_0"}},
		{ExpertVecParams{}, ExpertVec{MatVecPacked{Format: "Q4_0", Threads: 64, Rows: 2, Tokens: 1}}},
		{ExpertSortParams{}, ExpertSort{64}},
		{ExpertPanelParams{}, ExpertPanel{tile}},
		{LayerNormParams{}, LayerNorm{}},
		{LayerNormParams{}, LayerNorm{Bias: true}},
		{RoPEParams{}, RoPE{"norm"}},
		{StoreKVParams{}, StoreKV{}},
		{RoPEStoreParams{}, RoPEStore{Style: "norm"}},
		{AttentionParams{}, Attention{}},
		{AttentionParams{}, Attention{Sinks: true}},
		{AttentionParams{}, AttentionSplit{HeadDim: 128, Heads: 4}},
		{AttentionParams{}, AttentionTile{HeadDim: 128, Cols: 128, Depth: 16, Values: 16}},
		{AttentionParams{}, AttentionMerge{HeadDim: 128}},
		{UnpackHalfParams{}, UnpackHalf{}},
		{GatedActParams{}, GatedAct{"silu"}},
		{ActParams{}, Act{"silu"}},
		{AddBiasParams{}, AddBias{}},
		{AddParams{}, Add{}},
		{AddGatedParams{}, AddGated{}},
		{ScaleParams{}, Scale{}},
		{SoftcapParams{}, Softcap{}},
		{RouteParams{}, Route{}},
		{ExpertBiasParams{}, ExpertBias{}},
		{CombineParams{}, Combine{}},
		{ArgMaxParams{}, ArgMax{}},
		{ArgMaxParams{}, ArgMax{Merge: true}},
		{TopKParams{}, TopK{}},
		{TopKParams{}, TopK{Merge: true}},
		{DrawParams{}, Draw{}},
		{AdvanceParams{}, Advance{}},
		{BenchPassParams{}, BenchPass{}},
		{BenchFMAParams{}, BenchFMA{}},
	}
	for _, tt := range tests {
		typ := reflect.TypeOf(tt.params)
		t.Run(fmt.Sprintf("%T", tt.variant), func(t *testing.T) {
			s, err := Source(tt.variant.Program())
			if err != nil {
				t.Fatal(err)
			}
			code := withoutComments(s.WGSL)
			m := regexp.MustCompile(`struct ` + typ.Name() + ` \{([^}]*)\}`).FindStringSubmatch(code)
			if m == nil {
				t.Fatalf("no struct %s", typ.Name())
			}
			if !strings.Contains(code, "var<uniform> params: "+typ.Name()+";") {
				t.Errorf("params is no uniform %s", typ.Name())
			}
			// All fields are u32, so that field i lies at byte 4*i on both sides.
			var want []string
			for _, f := range strings.Split(strings.TrimSpace(m[1]), ",") {
				name, kind, _ := strings.Cut(strings.TrimSpace(f), ":")
				if name == "" {
					continue
				}
				if strings.TrimSpace(kind) != "u32" {
					t.Errorf("field %s is %s, not u32", name, kind)
				}
				want = append(want, name)
			}
			var got []string
			for i := range typ.NumField() {
				f := typ.Field(i)
				if f.Type.Kind() != reflect.Uint32 || f.Offset != uintptr(4*i) {
					t.Errorf("field %s: %v at offset %d, want uint32 at %d", f.Name, f.Type, f.Offset, 4*i)
				}
				got = append(got, snake(f.Name))
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("fields (-WGSL +Go):\n%s", d)
			}
			if typ.Size()%16 != 0 || typ.Size() != uintptr(4*len(want)) {
				t.Errorf("%d bytes for %d fields, want a multiple of 16", typ.Size(), len(want))
			}
		})
	}
}

// The batch norm's parameters are a vec4 in storage, whose parts the kernel reads by letter.
func TestRMSNormBatchParams(t *testing.T) {
	typ := reflect.TypeOf(RMSNormBatchParams{})
	var got []string
	for i := range typ.NumField() {
		got = append(got, typ.Field(i).Name)
	}
	if d := cmp.Diff([]string{"N", "EpsBits", "SrcStride", "DstStride"}, got); d != "" {
		t.Errorf("fields (-want +got):\n%s", d)
	}
	if typ.Size() != 16 {
		t.Errorf("%d bytes, want 16", typ.Size())
	}
	s, err := Source(RMSNormBatch{}.Program())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(s.WGSL, "var<storage, read> params: vec4<u32>;") {
		t.Error("params is no vec4<u32> in storage")
	}
}

func TestGrids(t *testing.T) {
	tests := []struct {
		name string
		got  Grid
		want Grid
	}{
		{"batch norm", RMSNormBatchParams{N: 64}.Grid(3), Grid{3, 1, 1}},
		{"batch norm at the limit", RMSNormBatchParams{}.Grid(65535), Grid{65535, 1, 1}},
		{"batch norm past the limit", RMSNormBatchParams{}.Grid(65536), Grid{32768, 2, 1}},
		{"batch norm, 70000 rows", RMSNormBatchParams{}.Grid(70000), Grid{35000, 2, 1}},
		{"arena norm", FusedResidualRMSNormParams{Outer: 513, Inner: 8}.Grid(), Grid{513, 1, 1}},
		{"embed", EmbedParams{Rows: 7}.Grid(), Grid{7, 1, 1}},
		{"matvec", MatVecParams{K: 64, M: 100, Rows: 3}.Grid(), Grid{100, 1, 3}},
		{"matvec of a vocabulary", MatVecParams{M: 128256, Rows: 1}.Grid(), Grid{64128, 2, 1}},
		{"matvec of too many rows", MatVecParams{M: 1, Rows: 1 << 20}.Grid(), Grid{1, 1, 65535}},
		{"panels, ragged", Panel{Width: 64}.Grid(PanelParams{Rows: 65, Depth: 40}), Grid{4, 1, 1}},
		{"packed panels", Panel{Format: "Q4_0", Packed: true, Width: 128}.Grid(PanelParams{Rows: 129, Depth: 1056}), Grid{18, 1, 1}},
		{"packed panels from inside of a unit", Panel{Format: "Q4_0", Packed: true, Width: 128}.Grid(PanelParams{Rows: 128, K0: 1016, Depth: 136}), Grid{2, 1, 1}},
		{"packed panels of Q8_0", Panel{Format: "Q8_0", Packed: true, Width: 64}.Grid(PanelParams{Rows: 64, Depth: 1056}), Grid{12, 1, 1}},
		{"packed panels of Q8_0 from a group on", Panel{Format: "Q8_0", Packed: true, Width: 64}.Grid(PanelParams{Rows: 64, K0: 512, Depth: 544}), Grid{8, 1, 1}},
		{"panels of a vocabulary", Panel{Width: 128}.Grid(PanelParams{Rows: 128256, Depth: 4096}), Grid{64128, 2, 1}},
		{"matmul in panels, ragged", MatMulPanel{tile}.Grid(MatMulPanelParams{M: 65, Rows: 129, Parts: 3}), Grid{18, 1, 1}},
		{"packed matvec", MatVecPacked{Rows: 4}.Grid(MatVecPackedParams{M: 9}), Grid{3, 1, 1}},
		{"packed matvec, gate and up", MatVecPacked{Rows: 4, Act: "silu"}.Grid(MatVecPackedParams{M: 9}), Grid{5, 1, 1}},
		{"rope", RoPEParams{Rows: 5, NHead: 8}.Grid(), Grid{40, 1, 1}},
		{"store", StoreKVParams{Rows: 5}.Grid(), Grid{5, 1, 1}},
		{"attention", AttentionParams{Rows: 4096, NHead: 32}.Grid(), Grid{43691, 3, 1}},
		{"split attention", AttentionSplit{}.Grid(AttentionParams{Rows: 2, NKV: 8, Parts: 2, Splits: 16}), Grid{512, 1, 1}},
		{"tiled attention", AttentionTile{}.Grid(AttentionParams{Rows: 17, NHead: 32, NKV: 8, Splits: 3}), Grid{48, 1, 1}},
		{"tiled attention of many rows", AttentionTile{}.Grid(AttentionParams{Rows: 1 << 16, NHead: 32, NKV: 32, Splits: 1}), Grid{32768, 1, 1}},
		{"merged attention", AttentionMerge{}.Grid(AttentionParams{Rows: 8, NHead: 32}), Grid{256, 1, 1}},
		{"unpacked halves", UnpackHalfParams{Rows: 2, N: 257}.Grid(), Grid{4, 1, 1}},
		{"gate", GatedActParams{Rows: 2, N: 257}.Grid(), Grid{4, 1, 1}},
		{"bias", AddBiasParams{Rows: 3, N: 256}.Grid(), Grid{3, 1, 1}},
		{"act", ActParams{Rows: 2, N: 255}.Grid(), Grid{2, 1, 1}},
		{"add", AddParams{Rows: 2, N: 513}.Grid(), Grid{6, 1, 1}},
		{"gated sum", AddGatedParams{Rows: 70000, N: 1}.Grid(), Grid{35000, 2, 1}},
		{"scale", ScaleParams{Rows: 1, N: 1}.Grid(), Grid{1, 1, 1}},
		{"softcap of a vocabulary", SoftcapParams{Rows: 1, N: 256000}.Grid(), Grid{1000, 1, 1}},
		{"layer norm", LayerNormParams{Rows: 70000, N: 8}.Grid(), Grid{35000, 2, 1}},
		{"route", RouteParams{Rows: 9, Experts: 512, Used: 8}.Grid(), Grid{9, 1, 1}},
		{"experts", ExpertMatMulParams{M: 100, Slots: 12}.Grid(), Grid{100, 1, 12}},
		{"experts, many slots", ExpertMatMulParams{M: 65536, Slots: 1 << 20}.Grid(), Grid{32768, 2, 65535}},
		{"sorted slots", ExpertSortParams{Slots: 4096, Experts: 128}.Grid(), Grid{129, 1, 1}},
		{"experts in panels", ExpertPanel{tile}.Grid(ExpertPanelParams{M: 128, Tiles: 193}), Grid{386, 1, 1}},
		{"experts whose rows end inside of a panel", ExpertPanel{tile}.Grid(ExpertPanelParams{M: 66, Tiles: 193}), Grid{579, 1, 1}},
		{"a part of experts that begins inside of one", ExpertPanel{tile}.Grid(ExpertPanelParams{M: 128, RowLo: 3, Tiles: 193}), Grid{579, 1, 1}},
		{"experts' bias", ExpertBiasParams{Slots: 4, N: 300}.Grid(), Grid{8, 1, 1}},
		{"argmax", ArgMax{}.Grid(ArgMaxParams{Rows: 3, Parts: 64}), Grid{192, 1, 1}},
		{"argmax, merged", ArgMax{Merge: true}.Grid(ArgMaxParams{Rows: 3, Parts: 64}), Grid{3, 1, 1}},
		{"advance", AdvanceParams{}.Grid(), Grid{1, 1, 1}},
		{"memory pass", BenchPassParams{Fours: 257}.Grid(), Grid{2, 1, 1}},
		{"loop of multiplications", BenchFMAParams{Count: 1 << 20}.Grid(), Grid{4096, 1, 1}},
		{"combine", CombineParams{Rows: 4, N: 300, Used: 8}.Grid(), Grid{8, 1, 1}},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, tt.got, tt.want)
		}
	}
}

func TestFoldCoversAll(t *testing.T) {
	for _, n := range []int{0, 1, 65534, 65535, 65536, 65537, 131070, 131071, 1 << 20, 4294836225} {
		g := Fold(n)
		cells := int(g.X) * int(g.Y) * int(g.Z)
		if cells < n || cells >= n+int(g.Y) && n > 0 || g.X > MaxGridDim || g.Y > MaxGridDim || g.Z != 1 {
			t.Errorf("Fold(%d) = %v, %d workgroups", n, g, cells)
		}
	}
}
