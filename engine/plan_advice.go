package engine

import (
	"fmt"
	"sort"

	"cera/backend"
	"cera/gguf"
	"cera/weights"
)

// advice lists what would fit the budget of a plan that does not: a shorter context, a cache of halves, smaller
// weights, the cpu.
func (p *planner) advice(out *Plan) ([]string, error) {
	var list []string
	for _, kv := range []backend.Format{p.o.KV, backend.F16} {
		longest, err := p.longest(out, kv)
		if err != nil {
			return nil, err
		}
		switch {
		case longest == 0:
		case kv == p.o.KV:
			list = append(list, fmt.Sprintf("a shorter context, --ctx %d", longest))
		case longest == out.Ctx:
			list = append(list, "a KV cache of halves, --kv f16")
		default:
			list = append(list, fmt.Sprintf("--kv f16 --ctx %d", longest))
		}
		if p.o.KV == backend.F16 {
			break
		}
	}
	for _, q := range quantizeTypes { // the largest first
		total, loading, err := p.weights(func(t *gguf.Tensor) (backend.Format, error) {
			to, _ := quantizedType(t, q.format)
			f, err := weights.FormatOf(to)
			return weights.Held(f, p.be.Takes), err
		})
		if err != nil {
			continue // a row of that format is larger than a binding
		}
		if max(loading, out.Total-out.Weights+total) <= out.Budget {
			list = append(list, fmt.Sprintf("weights in %v, cera-run quantize", q.format))
			break
		}
	}
	return append(list, "--device cpu"), nil
}

// longest returns the longest context up to the plan's that fits its budget with a cache of kv, or 0.
func (p *planner) longest(out *Plan, kv backend.Format) (int, error) {
	if out.Loading > out.Budget {
		return 0, nil
	}
	var failed error
	// The first length that does not fit.
	n := sort.Search(out.Ctx, func(i int) bool {
		s, err := p.session(i+1, kv)
		if err != nil {
			failed = err
		}
		return out.Weights+s.kv+s.other+p.working(i+1) > out.Budget
	})
	return n, failed
}
