package sample

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// What a history does to logits of 1 and -1, by hand.
func TestPenalties(t *testing.T) {
	tests := []struct {
		name    string
		p       Params
		history []int32
		want    []float64 // of the logits 1, -1, 1, -1
	}{
		{"none", Params{RepeatLastN: -1}, []int32{0, 1}, []float64{1, -1, 1, -1}},
		{"repeat", Params{RepeatLastN: -1, RepeatPenalty: 2}, []int32{0, 1, 0}, []float64{0.5, -2, 1, -1}},
		{"repeat below 1", Params{RepeatLastN: -1, RepeatPenalty: 0.5}, []int32{0, 1}, []float64{2, -0.5, 1, -1}},
		{"frequency", Params{RepeatLastN: -1, FrequencyPenalty: 0.25}, []int32{0, 1, 0, 0},
			[]float64{0.25, -1.25, 1, -1}},
		{"presence", Params{RepeatLastN: -1, PresencePenalty: 0.25}, []int32{0, 1, 0, 0},
			[]float64{0.75, -1.25, 1, -1}},
		{"negative", Params{RepeatLastN: -1, PresencePenalty: -1, FrequencyPenalty: -1}, []int32{0, 0},
			[]float64{4, -1, 1, -1}},
		{"all three", Params{RepeatLastN: -1, RepeatPenalty: 2, FrequencyPenalty: 1, PresencePenalty: 0.5},
			[]int32{3, 2, 2}, []float64{1, -1, -2, -3.5}},
		{"last 2", Params{RepeatLastN: 2, PresencePenalty: 1}, []int32{0, 0, 0, 1, 2}, []float64{1, -2, 0, -1}},
		{"last 1", Params{RepeatLastN: 1, FrequencyPenalty: 1}, []int32{2, 2, 2, 2, 3, 3}, []float64{1, -1, 1, -2}},
		{"last 0", Params{RepeatLastN: 0, FrequencyPenalty: 1}, []int32{2, 2}, []float64{1, -1, 1, -1}},
		{"longer than the history", Params{RepeatLastN: 100, FrequencyPenalty: 1}, []int32{2}, []float64{1, -1, 0, -1}},
		{"bias first", Params{RepeatLastN: -1, RepeatPenalty: 2, LogitBias: map[int32]float32{0: -2, 1: 2, 3: -1}},
			[]int32{0, 1}, []float64{-2, 0.5, 1, -2}},
		{"banned", Params{RepeatLastN: -1, RepeatPenalty: 2, PresencePenalty: 1,
			LogitBias: map[int32]float32{0: float32(-inf)}}, []int32{0}, []float64{-inf, -1, 1, -1}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := mustNew(t, test.p, 4, Options{})
			for _, id := range test.history {
				if err := s.Accept(id); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := s.adjust([]float32{1, -1, 1, -1}); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(s.work, test.want) {
				t.Errorf("got %v, want %v", s.work, test.want)
			}
		})
	}
}

func TestDRY(t *testing.T) {
	texts := []string{"a", "b", "c", "d", ".", "x.", ".x", "", "-", ">", "->y"}
	id := map[string]int32{}
	for i, text := range texts {
		id[text] = int32(i)
	}
	list := func(s ...string) (l []int32) {
		for _, x := range s {
			l = append(l, id[x])
		}
		return l
	}
	on := Params{DRYMultiplier: 1, DRYBase: 2, DRYAllowedLength: 2, DRYPenaltyLastN: -1}
	with := func(change func(*Params)) Params { p := on; change(&p); return p }
	breakers := func(b ...string) Params { return with(func(p *Params) { p.DRYSequenceBreakers = b }) }
	tests := []struct {
		name    string
		p       Params
		history []int32
		want    map[string]float64 // penalties
	}{
		// "a b c" has been there and "c" came after it, "b c" and "d" came after it.
		{"lengths", on, list("a", "b", "c", "c", "b", "c", "d", "a", "b", "c"), map[string]float64{"c": 2, "d": 1}},
		{"allowed 3", with(func(p *Params) { p.DRYAllowedLength = 3 }),
			list("a", "b", "c", "c", "b", "c", "d", "a", "b", "c"), map[string]float64{"c": 1}},
		{"allowed 4", with(func(p *Params) { p.DRYAllowedLength = 4 }),
			list("a", "b", "c", "c", "b", "c", "d", "a", "b", "c"), nil},
		{"multiplier", with(func(p *Params) { p.DRYMultiplier = 0.5 }), list("a", "b", "c", "a", "b"),
			map[string]float64{"c": 0.5}},
		{"base 1", with(func(p *Params) { p.DRYBase = 1 }), list("a", "a", "a", "a", "a"), map[string]float64{"a": 1}},
		{"run", on, list("a", "a", "a", "a", "a"), map[string]float64{"a": 4}}, // 4 before the last repeat, 2**(4-2)
		{"too short", on, list("a", "a"), nil},
		{"last 4", with(func(p *Params) { p.DRYPenaltyLastN = 4 }), list("a", "b", "c", "a", "b"), nil},
		{"last 5", with(func(p *Params) { p.DRYPenaltyLastN = 5 }), list("a", "b", "c", "a", "b"),
			map[string]float64{"c": 1}},
		{"off", with(func(p *Params) { p.DRYPenaltyLastN = 0 }), list("a", "b", "c", "a", "b"), nil},
		{"allowed 0", with(func(p *Params) { p.DRYAllowedLength = 0 }), list("a", "b"), map[string]float64{"b": 1}},

		{"breaker token", with(func(p *Params) { p.DRYBreakerTokens = list(".") }),
			list("b", "a", "b", "c", "b", ".", "a", "b"), map[string]float64{"c": 1}},
		{"breaker cuts", with(func(p *Params) { p.DRYBreakerTokens = list("b") }),
			list("a", "b", "c", "a", "b", "c", "a", "b"), nil},
		{"breaker limits", breakers("."), list("a", "b", ".", "a", "b", "c", "d", ".", "a", "b"),
			map[string]float64{"c": 1}},
		{"no breaker", on, list("a", "b", ".", "a", "b", "c", ".", "a", "b"), map[string]float64{".": 1, "c": 2}},
		{"breaker within a token", breakers("."), list("x.", "a", "b", "c", "x.", "a", "b"),
			map[string]float64{"c": 1}},
		{"breakers are not penalized", breakers("."), list("a", "b", "x.", "a", "b"), nil},
		{"breaker of two tokens", breakers("->"), list("-", ">", "a", "b", "c", "-", ">", "a", "b"),
			map[string]float64{"c": 1}},
		{"its halves are none", breakers("->"), list(">", "a", "b", "c", ">", "a", "b"), map[string]float64{"c": 2}},
		{"breaker ends within a token", breakers("x->"), list(".x", "->y", "b", "b", "a", ".x", "->y", "b", "b"),
			map[string]float64{"a": 1}},
		{"empty tokens are in no breaker", breakers("->"), list("-", "", ">", "b", "c", "-", "", ">", "b"),
			map[string]float64{"c": 4}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := mustNew(t, test.p, len(texts), Options{TokenText: func(i int32) string { return texts[i] }})
			if err := s.AcceptPrompt(test.history...); err != nil {
				t.Fatal(err)
			}
			for range 2 { // the second time with used buffers
				if _, err := s.adjust(make([]float32, len(texts))); err != nil {
					t.Fatal(err)
				}
				for i, text := range texts {
					if got := 0 - s.work[i]; got != test.want[text] {
						t.Errorf("%q: penalty %v, want %v", text, got, test.want[text])
					}
				}
			}
		})
	}
}

// A repetition of any length gives a finite penalty.
func TestDRYLongRepetition(t *testing.T) {
	for _, base := range []float64{1, 1.0000001, 1.75, 100, math.MaxFloat32} {
		s := mustNew(t, Params{DRYMultiplier: 1, DRYBase: base, DRYPenaltyLastN: -1}, 2, Options{})
		for range 5000 {
			s.remember(1)
		}
		if id := mustSample(t, s, []float32{0, 0.5}).ID; id != 0 || math.IsInf(s.work[1], 0) || !(s.work[1] < 0) {
			t.Errorf("base %v: token %d, logit %v; want token 0 and a finite penalty", base, id, s.work[1])
		}
	}
}

// Repetitions of long random histories, against a look at every place.
func TestFindRepeats(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	for range 300 {
		n := 1 + r.IntN(200)
		tokens := make([]int32, n)
		for i := range tokens {
			tokens[i] = int32(r.IntN(1 + r.IntN(3)))
			if period := 1 + r.IntN(9); i >= period && r.IntN(20) > 0 {
				tokens[i] = tokens[i-period]
			}
		}
		limit := r.IntN(n + 1)
		d := newDRY(&Params{}, nil)
		d.findRepeats(tokens, limit)
		for k := 1; k < n; k++ {
			want := 0
			for want < limit && want < n-k && tokens[n-1-want] == tokens[n-1-k-want] {
				want++
			}
			if int(d.repeats[k]) != want {
				t.Fatalf("%v, limit %d: %d before the end %d repeat, want %d", tokens, limit, k, d.repeats[k], want)
			}
		}
	}
}

// However long the sequence, no more is kept than twice what is looked at.
func TestHistoryIsBounded(t *testing.T) {
	s := mustNew(t, Params{RepeatLastN: 10, PresencePenalty: 1, DRYMultiplier: 1, DRYBase: 2, DRYPenaltyLastN: 30}, 7,
		Options{})
	var all []int32
	for i := range 5000 {
		id := int32(i * i % 7)
		all = append(all, id)
		s.remember(id)
		if n := len(s.history.tokens); n > 60 || !slices.Equal(s.history.last(30), all[max(0, len(all)-30):]) {
			t.Fatalf("after %d tokens %d are kept: %v", i+1, n, s.history.tokens)
		}
	}
	if none := mustNew(t, Params{}, 7, Options{}); none.AcceptPrompt(1, 2, 3) != nil || len(none.history.tokens) != 0 {
		t.Errorf("without penalties %v are kept", none.history.tokens)
	}
}
