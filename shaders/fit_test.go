package shaders

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// What Fit says of a kernel is what its template says: the threads it has by default, and whether it works by stretches.
func TestFlexibleMatchesTheTemplates(t *testing.T) {
	size := regexp.MustCompile(`@workgroup_size\((\d+)u\)`)
	seen := map[string]bool{}
	for _, v := range Variants(formats...) {
		p := v.Program()
		f, ok := flexible[p.File]
		if !ok || seen[p.File] {
			continue
		}
		seen[p.File] = true
		for _, most := range []int{1024, f.threads, 200, 64, 32} {
			fitted, z := p.Fit(most)
			s, err := Source(fitted)
			if err != nil {
				t.Fatal(err)
			}
			want, wantZ := f.threads, 1
			if most < f.threads {
				want = powerOfTwo(most)
			}
			if f.stretches {
				wantZ = f.threads / want
			}
			if got := size.FindStringSubmatch(s.WGSL); got == nil || got[1] != fmt.Sprint(want) || int(z) != wantZ {
				t.Errorf("%s on %d threads: workgroups %v, %d of them, want %d and %d", p.File, most, got, z, want, wantZ)
			}
			if stretches := strings.Contains(s.WGSL, "fn row_and_element("); stretches != f.stretches {
				t.Errorf("%s: works by stretches %v, flexible says %v", p.File, stretches, f.stretches)
			}
		}
		if _, ok := p.Defines["WG_SIZE"]; ok {
			t.Errorf("%s: Fit changed the program it was given", p.File)
		}
	}
	if len(seen) != len(flexible) {
		t.Errorf("%d of %d kernels are in Variants", len(seen), len(flexible))
	}
}

// Workgroups that share a stretch along z cover each element of a row once.
func TestStretchesCoverAll(t *testing.T) {
	for _, threads := range []uint32{256, 128, 64, 32} {
		_, z := Add{}.Program().Fit(int(threads))
		for _, n := range []uint32{1, 31, 256, 257, 1025} {
			g := spanGrid(1, n)
			seen := make([]int, n)
			for x := range g.X {
				for k := range z {
					for lid := range threads {
						if i := x*rowSpan + k*threads + lid; i < n {
							seen[i]++
						}
					}
				}
			}
			for i, c := range seen {
				if c != 1 {
					t.Fatalf("%d threads, rows of %d: element %d is worked on %d times", threads, n, i, c)
				}
			}
		}
	}
}

// The forms of a norm on devices with few threads ask for no more of them than there are, or for 256.
func TestNormsOfFewThreads(t *testing.T) {
	for _, c := range []struct {
		n          int
		aligned    bool
		maxThreads int
		rms, layer int // threads; 0: the 256 that there are not
	}{
		{64, true, 64, 32, 64},
		{4096, true, 64, 64, 0},
		{8192, true, 64, 64, 0},
		{1024, false, 64, 64, 0},
		{1025, false, 64, 0, 0},
		{128, false, 64, 32, 64},
		{3000, false, 128, 128, 0},
		{4096, true, 256, 256, 0},
	} {
		f := ChooseRMSNorm(NormShape{N: c.n, Aligned: c.aligned}, c.maxThreads)
		if f.Threads != c.rms {
			t.Errorf("RMS norm of %d on %d threads: %d, want %d", c.n, c.maxThreads, f.Threads, c.rms)
		}
		if v := ChooseLayerNorm(true, c.n, c.maxThreads); v.Threads != c.layer || !v.Bias {
			t.Errorf("layer norm of %d on %d threads: %+v, want %d", c.n, c.maxThreads, v, c.layer)
		}
	}
}
