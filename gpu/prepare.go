//go:build cgo

package gpu

import (
	"slices"
	"sync/atomic"

	"cera/backend"
	"cera/internal/cores"
	"cera/shaders"
)

// sketching is the state of a backend that has no device and only notes the kernels that its ops ask for.
type sketching struct {
	seen     map[shaders.Variant]bool
	variants []shaders.Variant
}

// add notes a variant.
func (s *sketching) add(v shaders.Variant) {
	if !s.seen[v] {
		s.seen[v] = true
		s.variants = append(s.variants, v)
	}
}

// compiling is what is compiled beside the caller's own work.
type compiling struct {
	stop atomic.Bool // the device is lost or wanted no more
	done chan map[shaders.Variant]*pipeline
}

// Prepare gives f a backend that takes what b takes and chooses the kernels that b would, but does nothing: it has no memory,
// LoadWeight takes no data, and what is read are zeros. The kernels that f's ops ask for are then compiled on all cores, while the
// caller goes on, say to upload weights; the first op of b that needs one not compiled yet waits for all of them. It is for speed
// alone: what cannot be compiled is left to the op that needs it, whose error says why. Kernels of Options.Kernels, in which errors
// are to be expected, are not compiled beforehand.
func (b *Backend) Prepare(f func(sketch backend.Backend)) {
	const op = "Prepare"
	if !b.ready(op) || b.templates != nil {
		return
	}
	b.flushesHalves(op) // a choice of kernels depends on it, and it is found by running one
	if b.err != nil {
		return
	}
	s := b.sketch()
	f(s)
	b.awaitCompiled()
	var missing []shaders.Variant
	for _, v := range s.sketching.variants {
		if b.pipelines[v] == nil {
			missing = append(missing, v)
		}
	}
	c := &compiling{done: make(chan map[shaders.Variant]*pipeline, 1)}
	b.compiling = c
	go func() { c.done <- b.compileAll(missing, &c.stop) }()
}

// sketch returns a backend with b's limits and choices, and without a device.
func (b *Backend) sketch() *Backend {
	return &Backend{
		info: b.info, limits: b.limits, maxWeight: b.maxWeight, matVecRows: b.matVecRows, pack: b.pack, tune: b.tune,
		maxThreads: b.maxThreads, normVariant: b.normVariant, attention: b.attention, halves: b.halves,
		buffers: map[*buffer]struct{}{}, interims: map[int]*buffer{}, rooms: map[int]*buffer{},
		sketching: &sketching{seen: map[shaders.Variant]bool{}},
	}
}

// compileAll compiles vs until stop. It runs beside the backend's own goroutine, and so touches only what stays as it is while the
// backend is open. The library tells errors by a stack of scopes for all threads, so that one may come out beside another kernel:
// after an error none of them is kept.
func (b *Backend) compileAll(vs []shaders.Variant, stop *atomic.Bool) map[shaders.Variant]*pipeline {
	made := make([]*pipeline, len(vs))
	failed := make([]bool, len(vs))
	cores.Each(len(vs), 1, func(int) func(lo, hi int) {
		return func(lo, hi int) {
			for i := lo; i < hi && !stop.Load(); i++ {
				var err error
				made[i], err = b.makePipeline(vs[i])
				failed[i] = err != nil
			}
		}
	})
	kept := map[shaders.Variant]*pipeline{}
	keep := !slices.Contains(failed, true)
	for i, p := range made {
		switch {
		case p == nil:
		case keep:
			kept[vs[i]] = p
		default:
			p.release()
		}
	}
	return kept
}

// awaitCompiled takes over what Prepare's kernels have become.
func (b *Backend) awaitCompiled() {
	if b.compiling == nil {
		return
	}
	for v, p := range <-b.compiling.done {
		b.pipelines[v] = p
	}
	b.compiling = nil
}

// stopCompiling has no further kernel compiled.
func (b *Backend) stopCompiling() {
	if b.compiling != nil {
		b.compiling.stop.Store(true)
	}
}

// Compiled returns how many kernels are compiled, those of Prepare included.
func (b *Backend) Compiled() int {
	b.awaitCompiled()
	return len(b.pipelines)
}
