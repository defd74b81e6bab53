//go:build cgo

package gpu

import (
	"slices"

	"cera/internal/cores"
	"cera/shaders"
)

// preparing collects the kernels that ops ask for while Prepare runs.
type preparing struct {
	seen     map[shaders.Variant]bool
	variants []shaders.Variant
}

// Prepare runs f without doing any of its ops, and compiles the kernels that they ask for, on all cores: a later run finds them.
// What f reads is zeros, what it uploads is lost. It is for speed alone: what cannot be compiled is left to the op that needs
// it, whose error says why. With guards, which look at what ops wrote, it does nothing.
func (b *Backend) Prepare(f func()) {
	const op = "Prepare"
	if !b.ready(op) || b.guards.on || b.prof.on || b.tape != nil {
		return
	}
	b.flushesHalves(op) // a choice of kernels depends on it, and it is found by running one
	b.wait(op)
	if b.err != nil {
		return
	}
	b.preparing = &preparing{seen: map[shaders.Variant]bool{}}
	f()
	missing := b.preparing.variants
	b.preparing, b.err = nil, nil
	b.epoch++ // tapes of f are empty
	b.submit(op)
	b.compileAll(missing)
}

// add notes a variant.
func (p *preparing) add(v shaders.Variant) {
	if !p.seen[v] {
		p.seen[v] = true
		p.variants = append(p.variants, v)
	}
}

// compileAll compiles what is not compiled yet. The library tells errors by a stack of scopes for all threads, so that one may
// come out beside another kernel: after an error none of them is kept.
func (b *Backend) compileAll(vs []shaders.Variant) {
	made := make([]*pipeline, len(vs))
	failed := make([]bool, len(vs))
	cores.Each(len(vs), 1, func(int) func(lo, hi int) {
		return func(lo, hi int) {
			for i := lo; i < hi; i++ {
				if b.pipelines[vs[i]] != nil {
					continue
				}
				var err error
				made[i], err = b.makePipeline(vs[i])
				failed[i] = err != nil
			}
		}
	})
	keep := !slices.Contains(failed, true)
	for i, p := range made {
		switch {
		case p == nil:
		case keep:
			b.pipelines[vs[i]] = p
		default:
			p.release()
		}
	}
}
