//go:build cgo

package gpu

import (
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cogentcore/webgpu/wgpu"

	"cera/backend"
	"cera/backend/backendtest"
)

// tinyRing makes every weight pass through a ring of so many buffers of so many bytes.
func tinyRing(b *Backend, size, most int) { b.ring = ring{size: size, most: most} }

// bufferWords returns what buf holds.
func bufferWords(b *Backend, buf *buffer) ([]uint32, error) {
	out := make([]float32, buf.words)
	for i := range out {
		out[i] = -77
	}
	err := b.Read(out, backend.Tensor{Buf: buf, Off: buf.lead, Rows: 1, N: buf.words, Stride: buf.words})
	return wgpu.FromBytes[uint32](wgpu.ToBytes(out)), err
}

// checkStored compares the buffers of w with its data, or with that packed at once.
func checkStored(t *testing.T, b *Backend, w *weight, data []byte) {
	t.Helper()
	rowBytes := w.format.RowBytes(w.n)
	for _, c := range w.chunks {
		part := data[c.lo*rowBytes : c.hi*rowBytes]
		want := wgpu.FromBytes[uint32](append(slices.Clone(part), make([]byte, -len(part)&3)...))
		var scales []uint32
		if p := w.packing; p != nil {
			q, s := p.sizes()
			groups := p.groups(c.hi-c.lo, w.n)
			want, scales = make([]uint32, groups*q/wordBytes), make([]uint32, groups*s/wordBytes)
			rows := 1 // that are packed by themselves
			if p.rowwise {
				rows = c.hi - c.lo
			}
			each, eachScales, eachBytes := len(want)/rows, len(scales)/rows, len(part)/rows
			for r := range rows {
				p.pack(want[r*each:(r+1)*each], scales[r*eachScales:(r+1)*eachScales], part[r*eachBytes:(r+1)*eachBytes])
			}
		}
		if got, err := bufferWords(b, c.buf); err != nil || !slices.Equal(got, want) {
			t.Fatalf("rows %d to %d: word %d differs of %d, %v", c.lo, c.hi, firstOther(got, want), len(want), err)
		}
		if c.scales == nil {
			continue
		}
		if got, err := bufferWords(b, c.scales); err != nil || !slices.Equal(got, scales) {
			t.Fatalf("rows %d to %d: scale word %d differs of %d, %v", c.lo, c.hi, firstOther(got, scales), len(scales), err)
		}
	}
}

func firstOther(a, b []uint32) int {
	for i := range a {
		if i >= len(b) || a[i] != b[i] {
			return i
		}
	}
	return len(a)
}

// Weights of every format, of shapes that fit the ring in no way, arrive as they are, or as packing them at once makes
// them, whatever the size of the ring: pieces begin and end inside of rows, and between weights.
func TestRing(t *testing.T) {
	for _, c := range []struct {
		name       string
		size, most int
		o          Options
	}{
		{"hardly more than a group, always waited for", 1 << 10, 1, Options{}},
		{"guarded", 1 << 10, 3, Options{Guard: true}},
		{"odd size", 4096 - 8, 2, Options{}},
		{"weights of many parts", 10_000, 4, Options{MaxBinding: 9000}},
		{"all packed", 1 << 16, 4, Options{Pack: PackAlways}},
		{"none packed", 1 << 16, 2, Options{Pack: PackNever}},
		{"all of them at once", 1 << 22, 2, Options{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := open(t, c.o)
			tinyRing(b, c.size, c.most)
			type loaded struct {
				w    *weight
				data []byte
			}
			var all []loaded
			for _, f := range backend.Formats() {
				for _, shape := range [][2]int{{1, 1}, {3, 7}, {37, 3}, {5, 40}, {301, 2}} {
					rows, n := shape[0], shape[1]*f.Block()
					data := encoded(f, rows, n)
					w := b.LoadWeight(fmt.Sprintf("%s [%d, %d]", f, rows, n), f, rows, n, data)
					if w == nil {
						t.Fatal(b.Flush())
					}
					all = append(all, loaded{w.(*weight), data})
				}
			}
			if n := len(b.ring.slots); n == 0 || n > c.most {
				t.Errorf("the ring has %d buffers, expected 1 to %d", n, c.most)
			}
			for i, l := range all {
				t.Run(l.w.name, func(t *testing.T) { checkStored(t, b, l.w, l.data) })
				if i%2 == 0 {
					b.FreeWeight(l.w)
				}
			}
		})
	}
}

// What works on a weight finds it loaded, with no wait in between, and weights may be freed while others are on their way.
func TestRingKeepsOrder(t *testing.T) {
	b := open(t, Options{})
	tinyRing(b, 1<<14, 2)
	const rows, n = 50, 64
	pos := uploaded(b, "tokens", []uint32{0, 7, rows - 1})
	dst := b.Alloc("dst", 3*40, n)
	for i := range 40 {
		value := float32(i + 1)
		var before, after backend.Weight
		before = b.LoadWeight("before", backend.F32, rows, n, make([]byte, rows*n*4))
		w := b.LoadWeight("w", backend.F32, rows, n, wgpu.ToBytes(slices.Repeat([]float32{value}, rows*n)))
		b.FreeWeight(before)
		b.Embed(dst.Slice(3*i, 3*i+3), w, pos)
		after = b.LoadWeight("after", backend.F32, rows, n, make([]byte, rows*n*4))
		b.FreeWeight(w)
		b.FreeWeight(after)
	}
	for i, v := range read(t, b, dst) {
		if want := float32(i/(3*n) + 1); v != want {
			t.Fatalf("element %d: found %g, expected %g", i, v, want)
		}
	}
}

// The ring is counted while it is there, within the bound of a plan, and Flush gives it back; small weights do without.
func TestRingMemory(t *testing.T) {
	b := open(t, Options{})
	small := b.LoadWeight("small", backend.F32, 16, 256, make([]byte, 16*256*4))
	if m := b.Memory(); m.Working != 0 || b.StagingBytes(16*256*4) != 0 {
		t.Errorf("a small weight takes %+v, planned %d", m, b.StagingBytes(16*256*4))
	}
	const size = 96 << 20
	large := b.LoadWeight("large", backend.F32, size/4096, 1024, make([]byte, size))
	m, bound := b.Memory(), b.StagingBytes(size)
	if m.Working < ringSize || m.Working > bound || bound > 128<<20 {
		t.Errorf("a large weight takes %d bytes on its way, planned %d", m.Working, bound)
	}
	if m.Weights != size+16*256*4 {
		t.Errorf("found %d bytes of weights", m.Weights)
	}
	if err := b.Flush(); err != nil {
		t.Fatal(err)
	}
	if m := b.Memory(); m.Working != 0 || len(b.ring.slots) != 0 {
		t.Errorf("after Flush: %+v, %d buffers", m, len(b.ring.slots))
	}
	b.FreeWeight(small)
	b.FreeWeight(large)
	// An op that fails does not keep it.
	b.LoadWeight("large", backend.F32, size/4096, 1024, make([]byte, size))
	b.Scale(backend.Tensor{}, 2)
	if err := b.Flush(); err == nil || b.Memory().Working != 0 {
		t.Errorf("after a Flush with error %v: %+v", err, b.Memory())
	}
	if err := b.Flush(); err != nil {
		t.Error(err)
	}
}

// A ring is as small as the device's largest buffer asks for, and still takes a group of every packing.
func TestRingLimits(t *testing.T) {
	for f, p := range packings {
		if q, s := p.sizes(); q+s > 4096 {
			t.Errorf("%s: a group takes %d bytes, the smallest ring has 4096", f, q+s)
		}
	}
	b := open(t, Options{Limits: Limits{MaxBuffer: 1 << 20, MaxBinding: 1 << 20}})
	if b.ring.size != 1<<20 {
		t.Fatalf("the ring's buffers have %d bytes, the device's at most %d", b.ring.size, b.limits.MaxBuffer)
	}
	const rows, n = 1500, 1024
	data := encoded(backend.Q8_0, rows, n)
	w := b.LoadWeight("w", backend.Q8_0, rows, n, data)
	if w == nil {
		t.Fatal(b.Flush())
	}
	checkStored(t, b, w.(*weight), data)
}

// The suite passes where weights go through a small ring.
func TestConformanceRing(t *testing.T) {
	for _, c := range []struct {
		name  string
		o     Options
		parts []string
	}{
		{"as usual", Options{}, []string{"Embed", "MatMul", "MatMuls", "GatedMatMul", "ExpertMatMul"}},
		{"packed, guarded", Options{Pack: PackAlways, Guard: true}, []string{"Embed", "MatMul"}},
		{"split", Options{Pack: PackAlways, MaxBinding: 1 << 17}, []string{"Embed", "MatMul"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := open(t, c.o)
			tinyRing(b, 5000&^7, 2)
			backendtest.RunAll(t, func(*testing.T) backend.Backend { return b }, c.parts...)
		})
	}
}

// Several devices load at once, and memory is collected all the time: what the library writes its answers to is not the
// collector's.
func TestRingConcurrent(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(1))
	var wg sync.WaitGroup
	for i := range 3 {
		b := open(t, Options{})
		tinyRing(b, 1<<(12+i), 1+i)
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(i), rand.Uint64()))
			formats := backend.Formats()
			for range 40 {
				f := formats[r.IntN(len(formats))]
				rows, n := 1+r.IntN(60), (1+r.IntN(6))*f.Block()
				data := encoded(f, rows, n)
				w, _ := b.LoadWeight("w", f, rows, n, data).(*weight)
				if w == nil {
					t.Error(b.Flush())
					return
				}
				if w.packing == nil {
					want := wgpu.FromBytes[uint32](append(slices.Clone(data), make([]byte, -len(data)&3)...))
					if got, err := bufferWords(b, w.chunks[0].buf); err != nil || !slices.Equal(got, want) {
						t.Errorf("%s [%d, %d]: word %d differs, %v", f, rows, n, firstOther(got, want), err)
					}
				}
				if r.IntN(3) == 0 {
					if err := b.Flush(); err != nil {
						t.Error(err)
					}
				}
				b.FreeWeight(w)
			}
		})
	}
	wg.Wait()
}

// A device that is lost while weights are on their way: an error, and no call that waits or ends the program.
func TestRingLost(t *testing.T) {
	b := openOnly(t)
	tinyRing(b, 1<<12, 2)
	data := make([]byte, 1<<16)
	w := b.LoadWeight("before", backend.F32, 16, 1024, data)
	b.events.tell(true, "the card was unplugged")
	for _, name := range []string{"during", "after"} {
		if late := b.LoadWeight(name, backend.F32, 16, 1024, data); late != nil {
			t.Errorf("%s: a weight was loaded", name)
		}
		if err := b.Flush(); err == nil || !strings.Contains(err.Error(), "unplugged") {
			t.Errorf("%s: found %v", name, err)
		}
	}
	b.FreeWeight(w)
	b.Close()
}
