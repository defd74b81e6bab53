//go:build cgo

package gpu

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"cera/backend"
)

// profiled turns a profile on, or skips where the adapter has no timestamps.
func profiled(t *testing.T) *Backend {
	t.Helper()
	b := open(t, Options{})
	if err := b.Profile(true); errors.Is(err, ErrNoTimestamps) {
		t.Skipf("SKIPPED: %v", err)
	} else if err != nil {
		t.Fatal(err)
	}
	return b
}

func timings(t *testing.T, b *Backend) []Timing {
	t.Helper()
	all, err := b.Timings()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestProfile(t *testing.T) {
	b := profiled(t)
	x := filled(t, b, "x", 64, 1024, func(r, i int) float32 { return noise(1, r, i) })
	y := filled(t, b, "y", 64, 1024, func(r, i int) float32 { return noise(2, r, i) })
	dst := b.Alloc("dst", 64, 1024)
	w := b.LoadWeight("w", backend.F32, 1024, 1024, make([]byte, 4<<20))
	defer b.FreeWeight(w)
	step := func() {
		b.Add(x, y)
		b.Mark("sum-0")
		b.MatMul(dst, x, w)
		b.Mark("gate-0")
		b.Mark("up-0")
		b.Copy(y, x)
	}
	b.MarkEnd()
	start := time.Now()
	again := b.Record(step)
	again()
	all := timings(t, b)
	wall := float64(time.Since(start))

	type seen struct{ op, sites string }
	var got []seen
	for _, c := range all {
		got = append(got, seen{c.Op, strings.Join(c.Sites, "+")})
	}
	got = slices.Compact(got) // a product is several commands
	one := []seen{{"Add", "sum-0"}, {"MatMul", "gate-0+up-0"}, {"Copy", ""}}
	if want := slices.Concat(one, one); !slices.Equal(got, want) {
		t.Fatalf("found %v, expected %v", got, want)
	}
	var busy, end float64
	for i, c := range all {
		if c.Begin < end || c.End < c.Begin {
			t.Errorf("command %d runs from %.0f to %.0f ns, the one before it ended at %.0f", i, c.Begin, c.End, end)
		}
		busy, end = busy+c.End-c.Begin, c.End
	}
	if busy <= 0 || busy > wall {
		t.Errorf("the commands took %.0f ns, all of it %.0f", busy, wall)
	}
	if name := all[0].Kernel; name != "add_to" && !strings.HasPrefix(name, "add") {
		t.Errorf("kernel %q is not add", name)
	}
	again0 := len(all) / 2
	if last := all[again0-1]; all[0].Grid == ([3]uint32{}) || last.Grid != ([3]uint32{}) || last.Kernel != "copy" {
		t.Errorf("grids %v and %v of a dispatch and of %q", all[0].Grid, last.Grid, last.Kernel)
	}
	if all[0].Step != all[again0].Step || all[0].Step == all[1].Step {
		t.Errorf("steps %d, %d and, again, %d", all[0].Step, all[1].Step, all[again0].Step)
	}
	if rest := timings(t, b); len(rest) != 0 {
		t.Errorf("%d commands are told twice", len(rest))
	}
}

// More commands than a submit takes, and more stamps than a buffer: none is lost, and what they give stays the same.
func TestProfileMany(t *testing.T) {
	const n = stampBuffer/2 + 3*maxRecorded/2
	run := func(b *Backend) []float32 {
		x := filled(t, b, "x", 1, 8, func(r, i int) float32 { return 0 })
		one := filled(t, b, "one", 1, 8, func(r, i int) float32 { return float32(i) })
		defer b.Free(x)
		defer b.Free(one)
		again := b.Record(func() {
			for range 16 {
				b.Add(x, one)
			}
		})
		for range n/16 - 1 {
			again()
		}
		return read(t, b, x)
	}
	b := profiled(t)
	got := run(b)
	all := timings(t, b)
	if len(all) != n/16*16 {
		t.Errorf("%d commands, expected %d", len(all), n/16*16)
	}
	for i := 1; i < len(all); i++ {
		if all[i].Begin < all[i-1].End || all[i].Submit < all[i-1].Submit {
			t.Fatalf("command %d begins at %.0f ns in submit %d, after one to %.0f ns in %d", i, all[i].Begin,
				all[i].Submit, all[i-1].End, all[i-1].Submit)
		}
	}
	if err := b.Profile(false); err != nil {
		t.Fatal(err)
	}
	if want := run(b); !slices.Equal(got, want) {
		t.Errorf("found %v with a profile, %v without", got, want)
	}
	if rest := timings(t, b); len(rest) != 0 {
		t.Errorf("%d commands were timed without a profile", len(rest))
	}
}

// The clock of the device, in nanoseconds, runs as the host's does.
func TestProfileClock(t *testing.T) {
	b := profiled(t)
	x := filled(t, b, "x", 1, 8, func(r, i int) float32 { return 0 })
	const pause = 300 * time.Millisecond
	b.Scale(x, 1)
	if err := b.Flush(); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	time.Sleep(pause)
	b.Scale(x, 1)
	all := timings(t, b)
	wall := float64(time.Since(start))
	if between := all[1].Begin - all[0].End; between < 0.9*float64(pause) ||
		between > 1.1*wall+float64(50*time.Millisecond) {
		t.Errorf("%.0f ns lie between two commands, expected %.0f to %.0f", between, float64(pause), wall)
	}
}

func TestProfileWithoutTimestamps(t *testing.T) {
	b := open(t, Options{})
	b.prof.able = false
	if err := b.Profile(true); !errors.Is(err, ErrNoTimestamps) {
		t.Errorf("found %v, expected %v", err, ErrNoTimestamps)
	}
	if err := b.Profile(false); err != nil {
		t.Error(err)
	}
}
