package shaders

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestChooseRMSNorm(t *testing.T) {
	const fours, single = true, false
	tests := []struct {
		name    string
		n       int
		aligned bool
		threads int // limit
		want    NormForm
	}{
		{"one", 1, true, 1024, NormForm{32, single, 1, 0}},
		{"one four", 4, true, 1024, NormForm{32, fours, 1, 0}},
		{"head of 64", 64, true, 1024, NormForm{32, fours, 1, 0}},
		{"head of 128", 128, true, 1024, NormForm{32, fours, 1, 1}},
		{"head of 128, unaligned", 128, false, 1024, NormForm{32, single, 4, 4}},
		{"head of 256", 256, true, 1024, NormForm{32, fours, 2, 2}},
		{"257", 257, true, 1024, NormForm{64, single, 5, 4}},
		{"896", 896, true, 1024, NormForm{128, fours, 2, 1}},
		{"1024", 1024, true, 1024, NormForm{128, fours, 2, 2}},
		{"2048", 2048, true, 1024, NormForm{256, fours, 2, 2}},
		{"4096", 4096, true, 1024, NormForm{256, fours, 4, 4}},
		{"4096, unaligned", 4096, false, 1024, NormForm{256, single, 16, 16}},
		{"4095", 4095, true, 1024, NormForm{256, single, 16, 15}},
		{"5120", 5120, true, 1024, NormForm{256, fours, 5, 5}},
		{"7168", 7168, true, 1024, NormForm{256, fours, 7, 7}},
		{"8192", 8192, true, 1024, NormForm{256, fours, 8, 8}},
		{"8193", 8193, true, 1024, NormForm{512, single, 17, 16}},
		{"8193, few threads", 8193, true, 256, NormForm{256, single, 0, 0}},
		{"16384", 16384, true, 1024, NormForm{512, fours, 8, 8}},
		{"16384, few threads", 16384, true, 256, NormForm{256, fours, 0, 0}},
		{"too wide for registers", 16388, true, 1024, NormForm{256, fours, 0, 0}},
		{"too wide and odd", 32769, true, 2048, NormForm{256, single, 0, 0}},
	}
	for _, tt := range tests {
		if got := ChooseRMSNorm(NormShape{N: tt.n, Aligned: tt.aligned}, tt.threads); got != tt.want {
			t.Errorf("%s: found %+v, expected %+v", tt.name, got, tt.want)
		}
		arena := tt.want
		switch tt.name {
		case "4095":
			arena = NormForm{512, single, 8, 7}
		case "4096, unaligned":
			arena = NormForm{512, single, 8, 8}
		case "8193":
			arena = NormForm{1024, single, 9, 8}
		}
		if got := ChooseRMSNorm(NormShape{N: tt.n, Aligned: tt.aligned, Arena: true}, tt.threads); got != arena {
			t.Errorf("%s, arena: found %+v, expected %+v", tt.name, got, arena)
		}
	}
}

// Whatever is chosen has registers for the whole row where it holds one, and no more than it needs.
func TestChooseRMSNormCoversRows(t *testing.T) {
	for n := 1; n < 40000; n += 1 + n/16 {
		for _, threads := range []int{256, 512, 1024} {
			for _, aligned := range []bool{false, true} {
				f := ChooseRMSNorm(NormShape{N: n, Aligned: aligned, Arena: n%2 == 0}, threads)
				room, last := f.Held*f.Threads*f.lanes(), (f.Held-1)*f.Threads*f.lanes()
				if f.Threads > threads || f.Held > 0 && (room < n || last >= n) || f.Held > 0 && f.Full != n/(f.Threads*f.lanes()) {
					t.Errorf("rows of %d, aligned %v, up to %d threads: %+v", n, aligned, threads, f)
				}
				if f.Vec4 != (aligned && n%4 == 0) || f.Held == 0 && n <= min(maxHeldFloats*threads, maxHeldRow) {
					t.Errorf("rows of %d, aligned %v, up to %d threads: %+v", n, aligned, threads, f)
				}
			}
		}
	}
}

func TestNormVariantForm(t *testing.T) {
	tests := []struct {
		name    string
		n       int
		aligned bool
		threads int
		want    NormForm // the zero value: none
	}{
		{"vec4-held-256", 4096, true, 256, NormForm{256, true, 4, 4}},
		{"vec4-held-256", 4092, true, 256, NormForm{256, true, 4, 3}},
		{"vec4-held-256", 4096, false, 256, NormForm{}},
		{"vec4-held-256", 4097, true, 256, NormForm{}},
		{"vec4-held-512", 4096, true, 256, NormForm{}},
		{"vec4-held-1024", 4096, true, 1024, NormForm{1024, true, 1, 1}},
		{"vec4-held-1024", 16384, true, 1024, NormForm{1024, true, 4, 4}},
		{"vec4-held-1024", 16388, true, 1024, NormForm{}},
		{"vec4-held-64", 4096, true, 1024, NormForm{}}, // 64 floats a thread
		{"vec4-twice-64", 4096, true, 1024, NormForm{Threads: 64, Vec4: true}},
		{"scalar-held-256", 8193, true, 1024, NormForm{}},
		{"scalar-held-1024", 8193, false, 1024, NormForm{1024, false, 9, 8}},
		{"scalar-twice-256", 8193, false, 1024, NormForm{Threads: 256}},
		{"scalar-twice-32", 385, false, 1024, NormForm{}}, // longer sums than the bound allows
		{"scalar-twice-32", 256, false, 1024, NormForm{Threads: 32}},
	}
	for _, tt := range tests {
		v, err := ParseNormVariant(tt.name)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := v.Form(NormShape{N: tt.n, Aligned: tt.aligned}, tt.threads)
		if got != tt.want || ok != (tt.want != NormForm{}) {
			t.Errorf("%s, rows of %d, aligned %v, up to %d threads: found %+v, %v, expected %+v",
				tt.name, tt.n, tt.aligned, tt.threads, got, ok, tt.want)
		}
	}
	if f, ok := (NormVariant{}).Form(NormShape{N: 4096, Aligned: true}, 1024); ok {
		t.Errorf("no variant: found %+v", f)
	}
}

func TestParseNormVariant(t *testing.T) {
	for _, v := range NormVariants() {
		if got, err := ParseNormVariant(v.String()); got != v || err != nil {
			t.Errorf("%v: found %v, %v", v, got, err)
		}
	}
	for _, s := range []string{"", "held", "vec4-held", "vec4-held-0", "vec4-held-100", "vec4-held-2048", "VEC4-held-256", "vec4-held-256-x"} {
		if v, err := ParseNormVariant(s); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", s)) {
			t.Errorf("%q: found %v, %v", s, v, err)
		}
	}
}

// Every form keeps the interface: entry points, binding numbers and access, with fours or floats behind them.
func TestNormForms(t *testing.T) {
	binding := regexp.MustCompile(`@binding\(\d+\) var<[^>]*> \w+: [^;]*;`)
	want := map[string][]string{
		"rmsnorm_batch.wgsl": {
			"@binding(0) var<storage, read_write> src: array<f32>;", "@binding(1) var<storage, read_write> dst: array<f32>;",
			"@binding(2) var<storage, read> w: array<f32>;", "@binding(3) var<storage, read> params: vec4<u32>;",
			"@binding(4) var<storage, read> residual: array<f32>;",
		},
		"fused_residual_rms_norm.wgsl": {
			"@binding(0) var<storage, read_write> arena: array<f32>;", "@binding(1) var<uniform> params: FusedResidualRMSNormParams;",
		},
	}
	for _, nv := range NormVariants() {
		for _, n := range []int{128, 256, 1028, 4096, 16384} {
			f, ok := nv.Form(NormShape{N: n, Aligned: true}, maxNormThreads)
			if !ok {
				continue
			}
			for _, v := range []Variant{
				RMSNormBatch{Form: f}, RMSNormBatch{Add: true, Form: f}, FusedResidualRMSNorm{Form: f}, FusedResidualRMSNorm{Tee: true, Form: f},
			} {
				p := v.Program()
				s, err := Source(p)
				if err != nil {
					t.Fatalf("%+v: %v", v, err)
				}
				code := withoutComments(s.WGSL)
				if m := regexp.MustCompile(`\b[A-Z][A-Z0-9_]{2,}\b`).FindString(code); m != "" {
					t.Errorf("%+v: %s is left over", v, m)
				}
				entry := fmt.Sprintf("@compute @workgroup_size(%du)\nfn %s(", f.Threads, p.Entry)
				if !strings.Contains(code, entry) {
					t.Errorf("%+v: no %q", v, entry)
				}
				list := slices.Clone(want[p.File])
				if f.Vec4 {
					for i := range list {
						list[i] = strings.Replace(list[i], "array<f32>", "array<vec4<f32>>", 1)
					}
				}
				if got := binding.FindAllString(code, -1); !slices.Equal(got, list) {
					t.Errorf("%+v: found bindings %q, expected %q", v, got, list)
				}
			}
		}
	}
}
