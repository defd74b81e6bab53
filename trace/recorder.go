package trace

import (
	"cmp"
	"fmt"
	"slices"

	"cera/backend"
)

// Recorder is a probe of the forward pass (layers.Probe): it copies the tensors of the sites it wants on the device,
// between two dispatches of the run that is being recorded, and reads them back after.
type Recorder struct {
	be      backend.Backend
	want    func(site string) bool
	slabs   []backend.Tensor         // what captures lie in
	pending []capture                // of the chunk, in order
	free    map[[2]int][]capture     // captures to use again, by shape
	weights map[string]weightCapture // by norm site
	host    map[string][]float32     // read back
	sinkErr error                    // first of a sink
}

// capture is a copy of a tensor on the device.
type capture struct {
	site string
	t    backend.Tensor // [rows, n]
}

type weightCapture struct{ copy, of backend.Tensor }

// NewRecorder returns a recorder of the sites that want accepts.
func NewRecorder(be backend.Backend, want func(site string) bool) *Recorder {
	return &Recorder{be: be, want: want, free: map[[2]int][]capture{}, weights: map[string]weightCapture{},
		host: map[string][]float32{}}
}

// Site captures t, [rows, n], with the bias [1, n] added to the copy where it is valid.
func (r *Recorder) Site(site string, t, bias backend.Tensor) {
	if !r.want(site) {
		return
	}
	c := r.take(t.Rows, t.N)
	c.site = site
	r.be.Copy(c.t, t)
	if bias.Valid() {
		r.be.AddBias(c.t, bias)
	}
	r.pending = append(r.pending, c)
}

// Norm captures the weight [1, n] bound to the norm at a site, once, if the site is wanted. Where another tensor is
// bound in a later chunk, that is captured instead.
func (r *Recorder) Norm(site string, w backend.Tensor) {
	if !r.want(site) {
		return
	}
	old, ok := r.weights[site]
	if ok && old.of == w {
		return
	}
	if ok {
		r.release(capture{t: old.copy})
	}
	c := r.take(w.Rows, w.N)
	r.be.Copy(c.t, w)
	r.weights[site] = weightCapture{c.t, w}
	delete(r.host, site)
}

// slabBytes is how much memory captures of one shape are given at a time: what lies together is read together.
const slabBytes = 16 << 20

// take returns device memory of a shape. Captures that are taken one after the other lie so, for the most part.
func (r *Recorder) take(rows, n int) capture {
	key := [2]int{rows, n}
	if len(r.free[key]) == 0 {
		most := int64(slabBytes)
		if limit := r.be.Info().MaxBytes; limit > 0 {
			most = min(most, limit)
		}
		count := int(max(1, min(16, most/(4*int64(rows)*int64(n)))))
		slab := r.be.Alloc("capture", count*rows, n)
		if !slab.Valid() {
			return capture{}
		}
		r.slabs = append(r.slabs, slab)
		for i := count - 1; i >= 0; i-- {
			r.release(capture{t: slab.Slice(i*rows, (i+1)*rows)})
		}
	}
	list := r.free[key]
	c := list[len(list)-1]
	r.free[key] = list[:len(list)-1]
	return c
}

// release makes a capture's memory ready for another. Memory that could not be had is nothing to keep.
func (r *Recorder) release(c capture) {
	if c.t.Valid() {
		key := [2]int{c.t.Rows, c.t.N}
		r.free[key] = append(r.free[key], c)
	}
}

// Sink takes the rows of sites: a Trace in memory, a Writer on disk.
type Sink interface {
	Append(site string, rows, n int, data []float32) error
}

// Collect waits for the device and moves what was captured since the last Collect to a sink. After an error the captures
// that it did not move are lost.
func (r *Recorder) Collect(to Sink) error {
	put := to.Append
	if t, ok := to.(*Trace); ok { // what is read is nobody else's
		put = func(site string, rows, n int, data []float32) error { return t.put(site, rows, n, data, true) }
	}
	defer func() {
		for _, c := range slices.Backward(r.pending) {
			r.release(c)
		}
		r.pending = r.pending[:0]
	}()
	for left := r.pending; len(left) > 0; {
		together, t := run(left)
		data := make([]float32, t.Rows*t.N)
		if err := r.be.Read(data, t); err != nil {
			return fmt.Errorf("site %s: %w", left[0].site, err)
		}
		for _, c := range left[:together] {
			size := c.t.Rows * c.t.N
			if err := put(c.site, c.t.Rows, c.t.N, data[:size:size]); err != nil {
				r.sinkErr = cmp.Or(r.sinkErr, err)
				return err
			}
			data = data[size:]
		}
		left = left[together:]
	}
	for site, w := range r.weights {
		if r.host[site] != nil {
			continue
		}
		data := make([]float32, w.copy.Rows*w.copy.N)
		if err := r.be.Read(data, w.copy); err != nil {
			return fmt.Errorf("weight of %s: %w", site, err)
		}
		r.host[site] = data
	}
	return nil
}

// run returns how many of the first captures lie one after the other, and all of these as one tensor.
func run(list []capture) (int, backend.Tensor) {
	t, n := list[0].t, 1
	for ; n < len(list); n++ {
		c := list[n].t
		if c.Buf != t.Buf || c.N != t.N || c.Stride != t.Stride || c.Off != t.Off+t.Rows*t.Stride {
			break
		}
		t.Rows += c.Rows
	}
	return n, t
}

// SinkErr returns the first error of a sink, as such: it is no fault of the device.
func (r *Recorder) SinkErr() error { return r.sinkErr }

// Weights returns the weights of the norms as read back from the device, by norm site. The map is the recorder's own.
func (r *Recorder) Weights() map[string][]float32 { return r.host }

// Close releases the recorder's memory on the device.
func (r *Recorder) Close() {
	for _, slab := range r.slabs {
		r.be.Free(slab)
	}
	r.slabs, r.pending, r.free, r.weights = nil, nil, nil, nil
}
