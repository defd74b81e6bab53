// Package cpu is the backend in pure Go, and the reference that the others are compared with. It stores float32,
// accumulates in float64, and shares rows out among all cores; the result of an op does not depend on the number of
// cores. With Kernels it is another backend, which has all but a few ops in common.
package cpu

import (
	"cmp"
	"fmt"
	"math"
	"runtime"
	"sync"
	"unsafe"

	"cera/backend"
)

// Backend runs ops on the processor, each to its end before the call returns.
type Backend struct {
	err     error // first error since the last Flush or Read that returned one
	kernels Kernels
}

var _ backend.Backend = (*Backend)(nil)

// New returns a cpu backend.
func New() *Backend { return &Backend{} }

type buffer struct {
	f    []float32
	u    []uint32 // the same memory
	name string
	own  *Backend
}

func (b *buffer) Words() int { return len(b.f) }

// maxWords keeps a single tensor's size in an int of any platform.
const maxWords = math.MaxInt32

func (b *Backend) Info() backend.Info {
	return backend.Info{
		Backend:  cmp.Or(b.kernels.Backend, "cpu"),
		Adapter:  fmt.Sprintf("%s/%s, %d cores", runtime.GOOS, runtime.GOARCH, runtime.NumCPU()),
		Driver:   cmp.Or(b.kernels.Driver, "pure Go, float64 accumulation"),
		Software: true,
		MaxBytes: 4 * maxWords,
	}
}

func (b *Backend) fail(op, format string, args ...any) {
	if b.err == nil {
		b.err = fmt.Errorf("%s: "+format, append([]any{op}, args...)...)
	}
}

func (b *Backend) Alloc(name string, rows, n int) backend.Tensor {
	if rows <= 0 || n <= 0 || rows > maxWords/n {
		b.fail("alloc "+name, "[%d, %d] is not a size this backend can hold", rows, n)
		return backend.Tensor{}
	}
	f := make([]float32, rows*n)
	u := unsafe.Slice((*uint32)(unsafe.Pointer(&f[0])), len(f))
	return backend.Tensor{Buf: &buffer{f, u, name, b}, Rows: rows, N: n, Stride: n}
}

func (b *Backend) Free(t backend.Tensor) {
	if buf, ok := t.Buf.(*buffer); ok {
		buf.f, buf.u, buf.own = nil, nil, nil
	}
}

func (b *Backend) Upload(t backend.Tensor, data []float32) {
	if m, ok := b.mat("upload", "dst", t); ok && b.length("upload", len(data), t) {
		for r := range t.Rows {
			copy(m.row(r), data[r*t.N:])
		}
	}
}

func (b *Backend) UploadU32(t backend.Tensor, data []uint32) {
	if m, ok := b.mat("upload", "dst", t); ok && b.length("upload", len(data), t) {
		for r := range t.Rows {
			copy(m.urow(r), data[r*t.N:])
		}
	}
}

func (b *Backend) Copy(dst, src backend.Tensor) {
	d, ok1 := b.mat("copy", "dst", dst)
	s, ok2 := b.mat("copy", "src", src)
	if !ok1 || !ok2 || !b.same("copy", "src", src, dst.Rows, dst.N) {
		return
	}
	for r := range dst.Rows {
		copy(d.urow(r), s.urow(r))
	}
}

func (b *Backend) Read(dst []float32, t backend.Tensor) error {
	if m, ok := b.mat("read", "src", t); ok && b.length("read", len(dst), t) {
		for r := range t.Rows {
			copy(dst[r*t.N:], m.row(r))
		}
	}
	return b.Flush()
}

func (b *Backend) Flush() error {
	err := b.err
	b.err = nil
	return err
}

func (b *Backend) Close() {}

// mat is a checked tensor.
type mat struct {
	f         []float32
	u         []uint32
	n, stride int
}

func (m mat) row(r int) []float32 { return m.f[r*m.stride : r*m.stride+m.n : r*m.stride+m.n] }
func (m mat) urow(r int) []uint32 { return m.u[r*m.stride : r*m.stride+m.n : r*m.stride+m.n] }

// mat checks that t lies inside its buffer. It answers false after an earlier error, so that later ops do nothing.
func (b *Backend) mat(op, what string, t backend.Tensor) (mat, bool) {
	if b.err != nil {
		return mat{}, false
	}
	buf, ok := t.Buf.(*buffer)
	switch {
	case !ok || buf.own != b:
		b.fail(op, "%s is not a live tensor of this backend", what)
	case t.Rows <= 0 || t.N <= 0 || t.Stride < t.N || t.Off < 0 || t.Off > len(buf.f)-t.Span():
		b.fail(op, "%s: rows %d, n %d, stride %d at %d do not fit %q of %d words",
			what, t.Rows, t.N, t.Stride, t.Off, buf.name, len(buf.f))
	default:
		end := t.Off + t.Span()
		return mat{buf.f[t.Off:end], buf.u[t.Off:end], t.N, t.Stride}, true
	}
	return mat{}, false
}

func (b *Backend) length(op string, n int, t backend.Tensor) bool {
	if n != t.Rows*t.N {
		b.fail(op, "%d values for a tensor of [%d, %d]", n, t.Rows, t.N)
		return false
	}
	return true
}

func (b *Backend) same(op, what string, t backend.Tensor, rows, n int) bool {
	if t.Rows != rows || t.N != n {
		b.fail(op, "%s is [%d, %d], expected [%d, %d]", what, t.Rows, t.N, rows, n)
		return false
	}
	return true
}

// parallel calls f with disjoint ranges that cover 0..n-1, on all cores; a range holds at least grain items.
func parallel(n, grain int, f func(lo, hi int)) {
	parts := min(runtime.GOMAXPROCS(0), (n+grain-1)/max(grain, 1))
	if parts <= 1 {
		f(0, n)
		return
	}
	var wg sync.WaitGroup
	for p := range parts {
		wg.Go(func() { f(p*n/parts, (p+1)*n/parts) })
	}
	wg.Wait()
}
