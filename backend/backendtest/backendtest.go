// Package backendtest is the conformance suite that every backend runs: each op against a plain float64 computation,
// over odd widths, strides larger than the row, poisoned outputs and repeated runs.
package backendtest

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cera/backend"
)

// Widths are row lengths that vector loads, workgroups and powers of two do not divide, beside those they do.
var Widths = []int{1, 3, 31, 64, 255, 256, 257, 1025, 4096, 5120, 7168, 8193}

// RunAll runs the suite on the backend that open returns; it is called once for the whole suite. With names it runs the
// parts of these names alone, for a backend whose other parts were tested already.
func RunAll(t *testing.T, open func(t *testing.T) backend.Backend, only ...string) {
	be := open(t)
	for _, s := range []struct {
		name string
		run  func(*testing.T, backend.Backend)
	}{
		{"Memory", testMemory},
		{"Errors", testErrors},
		{"RMSNorm", testRMSNorm},
		{"AddRMSNorm", testAddRMSNorm},
		{"FusedResidualRMSNorm", testFusedNorm},
		{"NormRows", testNormRows},
		{"NormsAgree", testNormsAgree},
		{"LayerNorm", testLayerNorm},
		{"Formats", testFormats},
		{"Embed", testEmbed},
		{"MatMul", testMatMul},
		{"RoPE", testRoPE},
		{"StoreKV", testStoreKV},
		{"RopeStoreKV", testRopeStoreKV},
		{"UnpackHalf", testUnpackHalf},
		{"Attention", testAttention},
		{"AttentionSplits", testAttentionSplits},
		{"AttentionBatch", testAttentionBatch},
		{"RepeatAttention", testRepeatAttention},
		{"Act", testAct},
		{"GatedAct", testGatedAct},
		{"AddBias", testAddBias},
		{"Add", testAdd},
		{"Scale", testScale},
		{"Softcap", testSoftcap},
		{"Route", testRoute},
		{"ExpertMatMul", testExpertMatMul},
		{"ExpertBias", testExpertBias},
		{"Combine", testCombine},
		{"AddGated", testAddGated},
		{"MatMuls", testMatMuls},
		{"GatedMatMul", testGatedMatMul},
		{"ArgMax", testArgMax},
		{"TopK", testTopK},
		{"Draw", testDraw},
		{"Record", testRecord},
		{"Repeat", testRepeat},
		{"RepeatExperts", testRepeatExperts},
	} {
		if len(only) > 0 && !slices.Contains(only, s.name) {
			continue
		}
		t.Run(s.name, func(t *testing.T) { s.run(t, be) })
	}
}

// poison is what a test leaves in memory that an op must overwrite or must not touch: finite, so that reading it
// where one should not gives a wrong number and not a NaN that propagates by luck, and never a right answer.
var poison = math.Float32frombits(0xdeadbeef)

// operand is a tensor with its host copy, gaps between rows included.
type operand struct {
	t    backend.Tensor
	host []float32 // [rows*stride]
	be   backend.Backend
}

// put allocates rows of n values with a stride, fills the rows from f and the gaps with poison.
func put(be backend.Backend, rows, n, stride int, f func(r, i int) float32) *operand {
	all := be.Alloc("test operand", rows, stride)
	host := make([]float32, rows*stride)
	for r := range rows {
		for i := range stride {
			if i < n {
				host[r*stride+i] = f(r, i)
			} else {
				host[r*stride+i] = poison
			}
		}
	}
	be.Upload(all, host)
	t := all
	t.N = n
	return &operand{t, host, be}
}

// poisoned is an output nobody has written yet.
func poisoned(be backend.Backend, rows, n, stride int) *operand {
	return put(be, rows, n, stride, func(int, int) float32 { return poison })
}

func (o *operand) at(r, i int) float32 { return o.host[r*o.t.Stride+i] }

func (o *operand) free() { o.be.Free(o.t) }

// whole is the operand with its gaps.
func (o *operand) whole() backend.Tensor {
	t := o.t
	t.N = t.Stride
	return t
}

// read returns the operand's rows and gaps as they stand on the device, after checking that the gaps hold poison, bit
// for bit.
func (o *operand) read(t *testing.T, what string) []float32 {
	t.Helper()
	got := make([]float32, len(o.host))
	if err := o.be.Read(got, o.whole()); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	for r := range o.t.Rows {
		for i := o.t.N; i < o.t.Stride; i++ {
			if g := got[r*o.t.Stride+i]; math.Float32bits(g) != math.Float32bits(poison) {
				t.Fatalf("%s: gap after row %d, word %d was overwritten with %g", what, r, i, g)
			}
		}
	}
	return got
}

// expect reads the operand back and compares every row with want within bound.
func (o *operand) expect(t *testing.T, what string, want func(r, i int) (want, bound float64)) {
	t.Helper()
	got := o.read(t, what)
	for r := range o.t.Rows {
		for i, g := range got[r*o.t.Stride:][:o.t.N] {
			w, bound := want(r, i)
			if d := math.Abs(float64(g) - w); !(d <= bound) {
				t.Fatalf("%s: [%d, %d] is %g, want %g: off by %.3g, bound %.3g", what, r, i, g, w, d, bound)
			}
		}
	}
}

// expectU32 reads the operand back as u32 words and compares every row with want.
func (o *operand) expectU32(t *testing.T, what string, want func(r, i int) uint32) {
	t.Helper()
	got := o.read(t, what)
	for r := range o.t.Rows {
		for i, g := range got[r*o.t.Stride:][:o.t.N] {
			if w := want(r, i); math.Float32bits(g) != w {
				t.Fatalf("%s: [%d, %d] is %d, want %d", what, r, i, math.Float32bits(g), w)
			}
		}
	}
}

// unchanged checks that an input still holds what the test put there.
func (o *operand) unchanged(t *testing.T, what string) {
	t.Helper()
	o.expect(t, what, func(r, i int) (float64, float64) { return float64(o.at(r, i)), 0 })
}

// random returns a source of values around zero of the given size.
func random(seed uint64, scale float64) func(r, i int) float32 {
	rng := rand.New(rand.NewPCG(seed, 1))
	return func(int, int) float32 { return float32(rng.NormFloat64() * scale) }
}

// ids puts a [1, n] u32 tensor on the device.
func ids(be backend.Backend, data []uint32) backend.Tensor {
	t := be.Alloc("test ids", 1, len(data))
	be.UploadU32(t, data)
	return t
}
