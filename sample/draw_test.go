package sample

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// upperGamma returns the regularized upper incomplete gamma function Q(a, x), by series or continued fraction.
func upperGamma(a, x float64) float64 {
	lg, _ := math.Lgamma(a)
	front := math.Exp(-x + a*math.Log(x) - lg)
	if x < a+1 {
		sum, term := 1/a, 1/a
		for n := 1.0; n < 10000; n++ {
			term *= x / (a + n)
			sum += term
		}
		return 1 - sum*front
	}
	// From the far end of the fraction.
	f := x
	for n := 2000.0; n >= 1; n-- {
		f = x + (n-a)/(1+n/f)
	}
	return front / f
}

// chiSquare returns the probability that counts drawn by p are at least as far from their expectation as these. Cells
// of an expectation below 5 are pooled.
func chiSquare(counts []int, p []float64) float64 {
	n := 0
	for _, c := range counts {
		n += c
	}
	chi, cells, restCount, restP := 0.0, 0, 0, 0.0
	add := func(count int, p float64) {
		want := p * float64(n)
		chi += (float64(count) - want) * (float64(count) - want) / want
		cells++
	}
	for i, c := range counts {
		if p[i]*float64(n) < 5 {
			restCount, restP = restCount+c, restP+p[i]
			continue
		}
		add(c, p[i])
	}
	if restP*float64(n) >= 1 {
		add(restCount, restP)
	} else if restCount > 20 {
		return 0
	}
	if cells < 2 {
		return 1
	}
	return upperGamma(float64(cells-1)/2, chi/2)
}

func TestChiSquare(t *testing.T) {
	// Values of the chi-square distribution as tables print them.
	for _, test := range []struct{ df, x, p float64 }{
		{1, 3.841, 0.05}, {2, 9.210, 0.01}, {10, 18.307, 0.05}, {30, 50.892, 0.01}, {100, 124.342, 0.05},
		{5, 1.145, 0.95},
	} {
		if got := upperGamma(test.df/2, test.x/2); math.Round(got*1e4) != math.Round(test.p*1e4) {
			t.Errorf("Q(%v, %v) = %v, want %v", test.df/2, test.x/2, got, test.p)
		}
	}
}

// The drawn tokens are distributed as the definition says, and by no distribution near it.
func TestDistribution(t *testing.T) {
	const vocab, draws = 24, 40000
	r := rand.New(rand.NewPCG(5, 6))
	logits := make([]float32, vocab)
	for i := range logits {
		logits[i] = float32(r.NormFloat64() * 1.5)
	}
	for i, p := range []Params{
		{Temperature: 1},
		{Temperature: 0.5},
		{Temperature: 2},
		{Temperature: 1e6},
		{Temperature: 1, TopK: 7},
		{Temperature: 1.3, TopP: 0.8},
		{Temperature: 0.7, TypicalP: 0.6},
		{Temperature: 1, MinP: 0.1},
		{Temperature: 1, TopNSigma: 1},
		{Temperature: 1, XTCProbability: 1, XTCThreshold: 0.1},
		{Temperature: 1, LogitBias: map[int32]float32{0: 2, 5: float32(math.Inf(-1)), 6: -1}},
		Default(),
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			p.Seed = 100 + uint64(i)
			s := mustNew(t, p, vocab, Options{TokenText: func(int32) string { return "" }})
			counts := make([]int, vocab)
			for range draws {
				counts[mustSample(t, s, logits).ID]++
			}
			want, wrong := make([]float64, vocab), make([]float64, vocab)
			for _, x := range soften(slowCandidates(p, logits, nil, nil, func(int) bool { return true }, &rand.PCG{}),
				p.Temperature) {
				want[x.id] = x.p
			}
			for i, w := range want {
				if w == 0 && counts[i] > 0 {
					t.Fatalf("token %d was drawn %d times and is no candidate", i, counts[i])
				}
			}
			if q := chiSquare(counts, want); !(q > 0.001) {
				t.Errorf("counts %v of %v: probability %v", counts, want, q)
			}
			// A quarter more of the odds for the likeliest candidate is another distribution.
			likeliest := slices.Index(want, slices.Max(want))
			for i, w := range want {
				wrong[i] = w / (1 + want[likeliest]/4)
			}
			wrong[likeliest] *= 1.25
			if q := chiSquare(counts, wrong); !(q < 1e-4) {
				t.Errorf("the test cannot tell a wrong distribution: probability %v", q)
			}
		})
	}
}

// XTC acts as often as it is told, and independently of the draw.
func TestXTCProbability(t *testing.T) {
	logits := []float32{0, 0, -1} // 0.42, 0.42, 0.16; XTC leaves token 1 and 2, 0.73 and 0.27
	s := mustNew(t, Params{Seed: 7, Temperature: 1, XTCProbability: 0.3, XTCThreshold: 0.2}, 3, Options{})
	counts := make([]int, 3)
	for range 30000 {
		counts[mustSample(t, s, logits).ID]++
	}
	e := math.Exp(-1)
	want := []float64{0.7 / (2 + e), 0.7/(2+e) + 0.3/(1+e), 0.7*e/(2+e) + 0.3*e/(1+e)}
	if q := chiSquare(counts, want); !(q > 0.001) {
		t.Errorf("counts %v, want %v: probability %v", counts, want, q)
	}
	if q := chiSquare(counts, []float64{0.6 / (2 + e), 0.6/(2+e) + 0.4/(1+e), 0.6*e/(2+e) + 0.4*e/(1+e)}); !(q < 1e-6) {
		t.Errorf("the test cannot tell another probability of XTC: %v", q)
	}
}

// What XTC leaves, against its definition.
func TestXTCSets(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 16))
	cut := 0
	for range 3000 {
		logits := randomLogits(r, 2+r.IntN(12))
		var list []token
		c := set{}
		for id, l := range logits {
			if !math.IsInf(float64(l), -1) {
				list = append(list, token{id: id, logit: float64(l)})
				c.c = append(c.c, candidate{float64(l), int32(id)})
			}
		}
		threshold, minKeep := r.Float64()*0.5, r.IntN(6)
		skip := c.xtc(threshold, minKeep)
		want := slowXTC(list, threshold, minKeep)
		if skip > 0 {
			cut++
		}
		if got := c.c[skip:]; !slices.EqualFunc(got, want,
			func(c candidate, x token) bool { return int(c.id) == x.id }) {
			t.Fatalf("%v, threshold %v, at least %d: got %v, want %v", logits, threshold, minKeep, got, want)
		}
	}
	if cut < 300 {
		t.Errorf("%d sets were cut: too few to tell", cut)
	}
}

// Draws that follow each other are independent.
func TestPairs(t *testing.T) {
	s := mustNew(t, Params{Seed: 3, Temperature: 1}, 4, Options{})
	logits := []float32{0, 0.5, -0.5, 1}
	p := make([]float64, 4)
	for _, x := range soften(slowCandidates(Params{}, logits, nil, nil, func(int) bool { return true }, nil), 1) {
		p[x.id] = x.p
	}
	counts, want := make([]int, 16), make([]float64, 16)
	last := int32(0)
	for i := range 40000 {
		id := mustSample(t, s, logits).ID
		if i%2 == 1 {
			counts[4*last+id]++
		}
		last = id
	}
	for i := range want {
		want[i] = p[i/4] * p[i%4]
	}
	if q := chiSquare(counts, want); !(q > 0.001) {
		t.Errorf("pairs %v, want %v: probability %v", counts, want, q)
	}
}

func TestGreedy(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	for range 2000 {
		vocab := 1 + r.IntN(50)
		logits := randomLogits(r, vocab)
		want := int32(slices.Index(logits, slices.Max(logits)))
		for _, p := range []Params{
			{}, {TopK: 5, TopP: 0.5, MinP: 0.1, TopNSigma: 1, Seed: r.Uint64()},
			{Mirostat: 2, MirostatTau: 3, MirostatEta: 0.1},
			{TypicalP: 1 - 1e-16, TopK: vocab}, {Temperature: 1, TopK: 1, Seed: r.Uint64()},
		} {
			if got := mustSample(t, mustNew(t, p, vocab, Options{}), logits).ID; got != want {
				t.Fatalf("%+v of %v: got %d, want the first of the largest, %d", p, logits, got, want)
			}
		}
	}
}

// As the temperature goes to 0, the draw becomes greedy, but for ties, which it shares out.
func TestTemperatureLimit(t *testing.T) {
	logits := []float32{1, 2, 2.001, -3, 2.001}
	for _, temp := range []float64{1e-5, 1e-10, 1e-30, smallest} {
		s := mustNew(t, Params{Temperature: temp, Seed: 4}, 5, Options{})
		counts := make([]int, 5)
		for range 10000 {
			counts[mustSample(t, s, logits).ID]++
		}
		if counts[0]+counts[1]+counts[3] != 0 {
			t.Errorf("temperature %v: counts %v, want none but tokens 2 and 4", temp, counts)
		}
		if q := chiSquare(counts, []float64{0, 0, 0.5, 0, 0.5}); !(q > 0.001) {
			t.Errorf("temperature %v: counts %v, want 2 and 4 as often: probability %v", temp, counts, q)
		}
	}
	s := mustNew(t, Params{Temperature: math.MaxFloat32, Seed: 4}, 5, Options{})
	counts := make([]int, 5)
	for range 10000 {
		counts[mustSample(t, s, logits).ID]++
	}
	if q := chiSquare(counts, []float64{0.2, 0.2, 0.2, 0.2, 0.2}); !(q > 0.001) {
		t.Errorf("the highest temperature: counts %v, want all as often: probability %v", counts, q)
	}
}

// Equal logits have the probability 1/n, to the last bit.
func TestLogProbExact(t *testing.T) {
	for k := range 12 {
		for _, l := range []float32{0, 1, -7} {
			logits := slices.Repeat([]float32{l}, 1<<k)
			got := mustSample(t, mustNew(t, Params{LogitBias: map[int32]float32{0: 5}}, 1<<k, Options{}),
				logits).LogProb
			if want := float64(l) - (float64(l) + float64(k)*math.Ln2); got != want {
				t.Errorf("1 of %d equal logits %v: %v, want %v", 1<<k, l, got, want)
			}
		}
	}
}
