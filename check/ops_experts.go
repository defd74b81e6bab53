package check

import (
	"fmt"
	"math"
	"slices"

	"cera/backend"
	"cera/layers"
)

// picked returns the experts that a row of logits picks, the largest logit first, the lower of equals.
func picked(logits []float32, used int) []int {
	ids := make([]int, len(logits))
	for i := range ids {
		ids[i] = i
	}
	slices.SortStableFunc(ids, func(a, b int) int {
		switch {
		case logits[a] > logits[b]:
			return -1
		case logits[a] < logits[b]:
			return 1
		}
		return 0
	})
	return ids[:used]
}

// needExperts is an error unless so many experts can be picked.
func needExperts(p backend.Router, logits rows) error {
	if p.Used < 1 || p.Used > logits.n {
		return fmt.Errorf("%d of %d experts cannot be picked", p.Used, logits.n)
	}
	return nil
}

// route expects the weights of the experts that logits pick.
func route(op layers.OpSite, logits, out rows) (expectation, error) {
	p := op.Router
	if err := needExperts(p, logits); err != nil {
		return nil, err
	}
	if err := needWidth(p.Used, "routing", out); err != nil {
		return nil, err
	}
	return func(r, j int) (float64, float64) {
		row := logits.row(r)
		ids := picked(row, p.Used)
		top := float64(row[ids[0]])
		var all, taken float64
		for _, v := range row {
			all += math.Exp(float64(v) - top)
		}
		for _, id := range ids {
			taken += math.Exp(float64(row[id]) - top)
		}
		sum := all
		if p.Kind == backend.TopKSoftmax || p.Normalize {
			sum = taken
		}
		gap := top - float64(row[ids[j]])
		want := math.Exp(-gap) / sum
		return want, RouteBound(p, logits.n, gap, want)
	}, nil
}

// expertMatMul expects, in slot j of a token, the product with the matrix of the j-th expert that its logits pick.
func (in *Input) expertMatMul(op layers.OpSite, x, logits, out rows) (expectation, error) {
	used, experts := op.Router.Used, logits.n
	if err := needExperts(op.Router, logits); err != nil {
		return nil, err
	}
	w, err := in.FileWeights(op.Weight)
	if err != nil {
		return nil, err
	}
	if out.n < 1 || out.n%used != 0 || len(w)%(experts*(out.n/used)) != 0 {
		return nil, fmt.Errorf("%s has %d elements, expected %d experts of %d rows", op.Weight, len(w), experts, out.n/used)
	}
	m := out.n / used
	k := len(w) / (experts * m)
	if x.n != k && x.n != used*k {
		return nil, fmt.Errorf("expert matmul: a row has %d elements, expected %d or %d", x.n, k, used*k)
	}
	var bias []float32
	if op.Bias != "" {
		if bias, err = in.FileWeights(op.Bias); err != nil {
			return nil, err
		}
		if len(bias) != experts*m {
			return nil, fmt.Errorf("%s has %d elements, expected %d", op.Bias, len(bias), experts*m)
		}
	}
	row, ids := -1, []int(nil)
	return func(r, i int) (float64, float64) {
		if r != row {
			row, ids = r, picked(logits.row(r), used)
		}
		slot, at := i/m, ids[i/m]*m+i%m
		xr := x.row(r)
		if x.n != k {
			xr = xr[slot*k : (slot+1)*k]
		}
		sum, bound := dot(xr[:k], w[at*k:(at+1)*k])
		if bias != nil {
			sum += float64(bias[at])
			bound += RoundingBound(sum)
		}
		return sum, bound
	}, nil
}

// combine expects the sum of a token's slots, each times its weight.
func combine(x, weights, out rows) (expectation, error) {
	if err := needWidth(out.n*weights.n, "slots", x); err != nil {
		return nil, err
	}
	return func(r, i int) (float64, float64) {
		var sum, abs float64
		for j, w := range weights.row(r) {
			p := float64(w) * float64(x.row(r)[j*out.n+i])
			sum += p
			abs += math.Abs(p)
		}
		return sum, DotBound(weights.n, abs)
	}, nil
}

// addGated expects In[0] + In[1] * sigmoid(In[2]), the last one value a token.
func addGated(x []rows, out rows) (expectation, error) {
	if err := needWidth(out.n, "summands", x[:2]...); err != nil {
		return nil, err
	}
	if err := needWidth(1, "gate", x[2]); err != nil {
		return nil, err
	}
	return func(r, i int) (float64, float64) {
		return AddGatedBound(float64(x[0].row(r)[i]), float64(x[1].row(r)[i]), float64(x[2].row(r)[0]))
	}, nil
}
