package check

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cera/backend"
)

// edgeExp is exp(-x) of x >= 0 at the edge of what WGSL promises, 3 + 2x ULP to one side, and flushed where it
// vanishes.
func edgeExp(x, side float64) float64 {
	e := math.Exp(-x) * (1 + side*2*unit*(3+2*x))
	if e < tiny {
		return 0
	}
	return round(e)
}

// edgeDiv is a / b at the edge of 2.5 ULP, the rounding included.
func edgeDiv(a, b, side float64) float64 { return round(a / b * (1 + side*4*unit)) }

// edgeSigmoid is 1 / (1 + exp(-x)) as kernels compute it.
func edgeSigmoid(x, side float64) float64 {
	e := edgeExp(math.Abs(x), side)
	num := e
	if x >= 0 {
		num, side = 1, -side // there a larger e makes a smaller result
	}
	return edgeDiv(num, round(1+e), side)
}

// edgeArgs are the arguments of the sigmoid in an activation of g, in orders of operations that are right.
func edgeArgs(act backend.Activation, g float64) []float64 {
	c1, c2 := round(2*math.Sqrt(2/math.Pi)), round(0.044715)
	switch act {
	case backend.GELUTanh:
		cube := round(round(round(c2*g)*g) * g)
		square := round(round(round(2*math.Sqrt(2/math.Pi)*0.044715)*g) * g)
		return []float64{round(c1 * round(g+cube)), round(g * round(c1+square))}
	case backend.ClampedSwiGLU:
		return []float64{round(round(backend.SwiGLUAlpha) * g)}
	}
	return []float64{g}
}

var allActs = []backend.Activation{backend.SiLU, backend.GELUTanh, backend.ClampedSwiGLU}

// TestGatedBound computes activations with exp and division at the edge of what is allowed.
func TestGatedBound(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, act := range allActs {
		worst := 0.0
		for g := -120.0; g <= 120; g += 0.0731 {
			gate, up := round(g), round(rng.NormFloat64()*3)
			value, bound := GatedBound(act, gate, up)
			factor := up
			if act == backend.ClampedSwiGLU {
				gate, factor = math.Min(gate, 7), round(math.Max(-7, math.Min(up, 7))+1)
			}
			for _, side := range []float64{-1, 1} {
				for _, arg := range edgeArgs(act, gate) {
					got := round(round(gate*edgeSigmoid(arg, side)) * factor)
					worst = math.Max(worst, math.Abs(got-value)/bound)
				}
			}
		}
		t.Logf("%s: largest error/bound %.3f", act, worst)
		if !(worst < 1 && worst > 0.3) {
			t.Errorf("%s: the largest error is %.3g times the bound, expected between 0.3 and 1", act, worst)
		}
	}
	if v, b := ActivationBound(backend.SiLU, 1e30); v != 1e30 || b > 1e30*20*unit {
		t.Errorf("silu(1e30) is %g, with a bound of %g of it", v, b/1e30)
	}
	for _, act := range allActs {
		if v, b := GatedBound(act, -1e30, 1); v != 0 || b > 1e-30 {
			t.Errorf("%s(-1e30) is %g, with a bound of %g", act, v, b)
		}
	}
	if v, b := GatedBound(3, 1, 1); v == v || b == b {
		t.Errorf("an unknown activation gives %g within %g", v, b)
	}
	if v, b := GatedBound(backend.SiLU, math.NaN(), 1); v == v || b == b {
		t.Errorf("silu(NaN) gives %g within %g", v, b)
	}
}

// TestActivationValues compares with values computed in 40 digits.
func TestActivationValues(t *testing.T) {
	for _, c := range []struct {
		act      backend.Activation
		gate, up float64
		want     float64
	}{
		{backend.SiLU, 1, 1, 0.7310585786300048793}, {backend.SiLU, -6, 1, -0.01483573893980864600},
		{backend.SiLU, 0.5, 1, 0.3112296656009272823}, {backend.SiLU, 3, -2, -2 * 2.857722380467299658},
		{backend.GELUTanh, 1, 1, 0.8411919906082767048}, {backend.GELUTanh, -1, 1, -0.1588080093917232952},
		{backend.GELUTanh, -6, 1, -8.439646700762297084e-11}, {backend.GELUTanh, 3, 2, 2 * 2.996362607918226981},
		{backend.ClampedSwiGLU, 1, 1, 1.691591531865642591}, {backend.ClampedSwiGLU, 9, 2, 20.99985938490995159},
		{backend.ClampedSwiGLU, -2, -9, 0.3860482611347511011}, {backend.ClampedSwiGLU, 7, 70, 55.99962502642653759},
	} {
		if got, _ := GatedBound(c.act, c.gate, c.up); !(math.Abs(got-c.want) <= 1e-14*math.Abs(c.want)) {
			t.Errorf("%s of %g and %g is %.17g, want %.17g", c.act, c.gate, c.up, got, c.want)
		}
	}
}

// TestActivationFaults: other functions that go by the same name are outside the bound.
func TestActivationFaults(t *testing.T) {
	for _, c := range []struct {
		name  string
		act   backend.Activation
		x, up float64
		wrong float64
	}{
		{"GELU by erf", backend.GELUTanh, 1, 1, 0.5 * (1 + math.Erf(1/math.Sqrt2))},
		{"GELU by sigmoid(1.702x)", backend.GELUTanh, 1, 1, 1 / (1 + math.Exp(-1.702))},
		{"GELU with 0.0447 for 0.044715", backend.GELUTanh, 1, 1, 1 / (1 + math.Exp(-2*math.Sqrt(2/math.Pi)*1.0447))},
		{"SiLU for GELU", backend.GELUTanh, 0.1, 1, 0.1 / (1 + math.Exp(-0.1))},
		{"ReLU", backend.SiLU, 5, 1, 5},
		{"alpha 1.7", backend.ClampedSwiGLU, 1, 1, 2 / (1 + math.Exp(-1.7))},
		{"gate not clamped", backend.ClampedSwiGLU, 7.01, 1, 2 * 7.01 / (1 + math.Exp(-1.702*7.01))},
		{"up not clamped", backend.ClampedSwiGLU, 1, -7.01, -6.01 / (1 + math.Exp(-1.702))},
		{"1 not added", backend.ClampedSwiGLU, 1, 5, 5 / (1 + math.Exp(-1.702))},
		{"half precision", backend.SiLU, 1, 1, 0.731058578630 * (1 + 0x1p-12)},
	} {
		if v, b := GatedBound(c.act, c.x, c.up); math.Abs(c.wrong-v) <= b {
			t.Errorf("%s: %g for %g is within %g", c.name, c.wrong, v, b)
		}
	}
}

func TestAddGatedBound(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	worst := 0.0
	for g := -120.0; g <= 120; g += 0.0731 {
		gate, dst, x := round(g), round(rng.NormFloat64()*0.01), round(rng.NormFloat64()*30)
		value, bound := AddGatedBound(dst, x, gate)
		for _, side := range []float64{-1, 1} {
			got := round(dst + round(x*edgeSigmoid(gate, side)))
			worst = math.Max(worst, math.Abs(got-value)/bound)
		}
	}
	if !(worst < 1 && worst > 0.3) {
		t.Errorf("the largest error is %.3g times the bound, expected between 0.3 and 1", worst)
	}
	if v, b := AddGatedBound(1, 2, 0.5); math.Abs(1+2*0.5-v) <= b {
		t.Errorf("a gate without its sigmoid is within the bound %g of %g", b, v)
	}
	if v, b := AddGatedBound(1, 2, 200); v != 3 || b > 20*unit*3 {
		t.Errorf("an open gate gives %g within %g, want 3", v, b)
	}
}

// edgeSoftcap is a softcap as kernels may compute it: by exp from cut on, by a polynomial below.
func edgeSoftcap(x, limit, cut, side float64) float64 {
	y := edgeDiv(x, limit, side)
	a := math.Abs(y)
	t := round(math.Tanh(a) * (1 + side*6*unit))
	if a >= cut {
		e := edgeExp(2*a, -side) // a smaller e makes a larger result
		t = edgeDiv(round(1-e), round(1+e), side)
	}
	return round(limit * math.Copysign(t, y))
}

func TestSoftcapBound(t *testing.T) {
	worst := 0.0
	for _, limit := range []float64{30, 50, 0.3} {
		limit := round(limit)
		for x := 1e-7; x < 1e4; x *= 1.003 {
			x := round(x)
			for _, x := range []float64{x, -x} {
				value, bound := SoftcapBound(x, limit)
				for _, side := range []float64{-1, 1} {
					worst = math.Max(worst, math.Abs(edgeSoftcap(x, limit, 0.25, side)-value)/bound)
				}
			}
		}
	}
	t.Logf("largest error/bound %.3f", worst)
	if !(worst < 1 && worst > 0.3) {
		t.Errorf("the largest error is %.3g times the bound, expected between 0.3 and 1", worst)
	}
	for _, c := range []struct {
		name     string
		x, wrong float64
	}{
		{"left out", 1, 1}, {"clamped", 20, 20}, {"limit 50", 3, 50 * math.Tanh(3.0/50)},
		{"tanh off by 1e-5", 3, 30 * (math.Tanh(0.1) + 1e-5)}, {"not scaled back", 20, math.Tanh(20.0 / 30)},
	} {
		if v, b := SoftcapBound(c.x, 30); math.Abs(c.wrong-v) <= b {
			t.Errorf("%s: %g for %g is within %g", c.name, c.wrong, v, b)
		}
	}
}

// softmax32 is attention over scores in float32, a position at a time: the most rescalings that there can be. The sink,
// where it is a number, is the first score.
func softmax32(scores, values []float32, sink float64) float64 {
	top, sum, out := float32(math.Inf(-1)), float32(0), float32(0)
	if sink == sink {
		top, sum = float32(sink), 1
	}
	for j, s := range scores {
		next := max(top, s)
		fade, w := float32(math.Exp(float64(top-next))), float32(math.Exp(float64(s-next)))
		top, sum, out = next, sum*fade+w, out*fade+w*values[j]
	}
	return float64(out / sum)
}

// attend is the same in float64, with the weighted mean of |V|.
func attend(scores, values []float64, sink float64) (out, abs float64) {
	top := slices.Max(scores)
	var sum float64
	if sink == sink {
		top = math.Max(top, sink)
		sum = math.Exp(sink - top)
	}
	for j, s := range scores {
		e := math.Exp(s - top)
		sum, out, abs = sum+e, out+e*values[j], abs+e*math.Abs(values[j])
	}
	return out / sum, abs / sum
}

func TestAttendBound(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	none := math.NaN()
	for _, c := range []struct {
		headDim, positions int
		scale, softcap     float32
		sink               float64
	}{
		{1, 1, 1, 0, none}, {8, 5, 0.35, 0, none}, {64, 300, 0.125, 0, none}, {31, 20, 4, 0, none},
		{128, 1000, 0.09, 0, none},
		{8, 5, 0.35, 0.5, none}, {64, 300, 0.125, 50, none}, {31, 20, 4, 50, none}, {31, 130, 4, 3, none},
		{8, 5, 0.35, 0, 1}, {64, 300, 0.125, 0, 5}, {64, 300, 0.125, 0, -1e30}, {64, 64, 0.125, 0, -40},
		{64, 300, 0.125, 0, 30},
		{64, 300, 0.125, 0, 95}, {64, 300, 0.125, 0, 1e4}, {31, 130, 4, 20, 25}, {1, 1, 1, 0, 0.5},
	} {
		q := make([]float32, c.headDim)
		for i := range q {
			q[i] = float32(rng.NormFloat64())
		}
		size := 0.0
		scores, values := make([]float64, c.positions), make([]float64, c.positions)
		scores32, values32 := make([]float32, c.positions), make([]float32, c.positions)
		for p := range c.positions {
			var s, a float64
			var s32 float32
			for _, x := range q {
				k := float32(rng.NormFloat64())
				s32 += x * k
				s += float64(x) * float64(k) * float64(c.scale)
				a += math.Abs(float64(x) * float64(k) * float64(c.scale))
			}
			s32 *= c.scale
			if limit := float64(c.softcap); limit > 0 {
				s, s32 = limit*math.Tanh(s/limit), float32(edgeSoftcap(float64(s32), limit, 0.25, float64(p%2*2-1)))
			}
			v := float32(rng.NormFloat64())
			scores[p], values[p], size = s, float64(v), math.Max(size, a)
			scores32[p], values32[p] = s32, v
		}
		want, abs := attend(scores, values, c.sink)
		sink := c.sink
		if sink != sink {
			sink = 0
		}
		bound := AttendBound(backend.Attention{HeadDim: c.headDim, Softcap: c.softcap}, c.positions, size, sink, abs)
		if err := math.Abs(softmax32(scores32, values32, c.sink) - want); !(err <= bound) {
			t.Errorf("%+v: error %g, bound %g", c, err, bound)
		}
		if bound > 0.01*abs+1e-30 {
			t.Errorf("%+v: the bound %g is more than a hundredth of the mean size %g of what is averaged", c, bound,
				abs)
		}
		if c.positions < 20 || c.sink > 50 || c.scale > 1 {
			continue
		}
		// Faults: a position too few, where it is not one of a thousand, and a sink that is left out.
		if got, _ := attend(scores[1:], values[1:], c.sink); c.positions < 1000 && math.Abs(got-want) <= bound {
			t.Errorf("%+v: without the first position the result is %g for %g, within %g", c, got, want, bound)
		}
		if got, _ := attend(scores, values, none); c.sink > -20 && math.Abs(got-want) <= bound {
			t.Errorf("%+v: without the sink the result is %g for %g, within %g", c, got, want, bound)
		}
	}
}

// TestRouteBound computes a router's weights in float32, sums from left to right.
func TestRouteBound(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	for _, c := range []struct {
		experts int
		spread  float64
		p       backend.Router
	}{
		{8, 1, backend.Router{Used: 2}}, {8, 1, backend.Router{Used: 2, Normalize: true}},
		{8, 1, backend.Router{Kind: backend.TopKSoftmax, Used: 2}}, {512, 3, backend.Router{Used: 8}},
		{512, 3, backend.Router{Used: 8, Normalize: true}}, {512, 0, backend.Router{Used: 8}},
		{128, 40, backend.Router{Used: 128}}, {128, 40, backend.Router{Used: 128, Normalize: true}},
		{128, 40, backend.Router{Kind: backend.TopKSoftmax, Used: 128, Normalize: true}},
		{1, 1, backend.Router{Used: 1}},
	} {
		logits := make([]float64, c.experts)
		for e := range logits {
			logits[e] = round(rng.NormFloat64() * c.spread)
		}
		slices.SortFunc(logits, func(a, b float64) int { return cmp.Compare(b, a) })
		over := c.experts
		if c.p.Kind == backend.TopKSoftmax {
			over = c.p.Used
		}
		for _, side := range []float64{-1, 1} {
			for _, own := range []float64{-side, side} { // the weight's own errors against those of the sum
				weight := func(j int, side float64) float64 {
					return edgeExp(round(logits[0]-logits[j]), side*math.Min(1, float64(j))) // exp(0) is exact
				}
				sum, used := 0.0, 0.0
				for j := range over {
					sum = round(sum + weight(j, side))
				}
				for j := range c.p.Used {
					used = round(used + edgeDiv(weight(j, side), sum, side))
				}
				var all, picked float64
				for j := range over {
					all += math.Exp(logits[j] - logits[0])
				}
				for j := range c.p.Used {
					picked += math.Exp(logits[j]-logits[0]) / all
				}
				for j := range c.p.Used {
					gap := logits[0] - logits[j]
					want, got := math.Exp(-gap)/all, edgeDiv(weight(j, own), sum, own)
					if c.p.Normalize {
						want, got = want/picked, edgeDiv(got, used, own)
					}
					bound := RouteBound(c.p, c.experts, gap, want)
					if err := math.Abs(got - want); !(err <= bound) {
						t.Errorf("%+v: weight %d: error %g of %g, bound %g", c, j, err, want, bound)
					}
					// Faults: a weight that is not normalised or is so where it should not, half precision.
					other := want * picked
					if !c.p.Normalize {
						other = want / picked
					}
					if math.Abs(1-picked) > 1e-3 && math.Abs(other-want) <= bound && want > 1e-20 {
						t.Errorf("%+v: weight %d: %g passes for %g", c, j, other, want)
					}
					if want > 1e-20 && gap < 20 && want*0x1p-12 <= bound {
						t.Errorf("%+v: weight %d: half precision of %g passes within %g", c, j, want, bound)
					}
				}
			}
		}
	}
}
