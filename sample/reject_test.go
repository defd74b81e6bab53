package sample

import (
	"errors"
	"math"
	"strings"
	"testing"
)

var nan, inf = math.NaN(), math.Inf(1)

func TestRejectParams(t *testing.T) {
	const vocab = 10
	text := func(int32) string { return "x" }
	bias := func(id int32, v float64) Params { return Params{LogitBias: map[int32]float32{3: 1, id: float32(v)}} }
	tests := []struct {
		name string
		p    Params
		want string
	}{
		{"temperature negative", Params{Temperature: -1}, "Temperature is -1, expected 0 or 1.175e-38 to 3.403e+38"},
		{"temperature NaN", Params{Temperature: nan}, "Temperature is NaN, expected 0 or"},
		{"temperature infinite", Params{Temperature: inf}, "Temperature is +Inf, expected 0 or"},
		{"temperature tiny", Params{Temperature: 1e-300}, "Temperature is 1e-300, expected 0 or"},
		{"top-k", Params{TopK: -1}, "TopK is -1, expected at least 0"},
		{"top-p above 1", Params{TopP: 1.5}, "TopP is 1.5, expected 0 to 1"},
		{"top-p negative", Params{TopP: -0.5}, "TopP is -0.5, expected 0 to 1"},
		{"top-p NaN", Params{TopP: nan}, "TopP is NaN, expected 0 to 1"},
		{"min-p", Params{MinP: 2}, "MinP is 2, expected 0 to 1"},
		{"typical", Params{TypicalP: 2}, "TypicalP is 2, expected 0 to 1"},
		{"top-n-sigma", Params{TopNSigma: -1}, "TopNSigma is -1, expected 0 to"},
		{"XTC probability", Params{XTCProbability: 1.1}, "XTCProbability is 1.1, expected 0 to 1"},
		{"XTC threshold", Params{XTCThreshold: -1}, "XTCThreshold is -1, expected 0 to 1"},
		{"min keep", Params{MinKeep: -2}, "MinKeep is -2, expected at least 0"},
		{"repeat last n", Params{RepeatLastN: -2}, "RepeatLastN is -2, expected at least -1"},
		{"repeat penalty", Params{RepeatPenalty: -1}, "RepeatPenalty is -1, expected 0 or"},
		{"frequency penalty", Params{FrequencyPenalty: inf}, "FrequencyPenalty is +Inf, expected"},
		{"presence penalty", Params{PresencePenalty: nan}, "PresencePenalty is NaN, expected"},
		{"DRY multiplier", Params{DRYMultiplier: -1}, "DRYMultiplier is -1, expected 0 to"},
		{"DRY base", Params{DRYMultiplier: 1, DRYBase: 0.5, DRYPenaltyLastN: -1}, "DRYBase is 0.5, expected 1 to"},
		{"DRY allowed length", Params{DRYAllowedLength: -1}, "DRYAllowedLength is -1, expected at least 0"},
		{"DRY last n", Params{DRYPenaltyLastN: -5}, "DRYPenaltyLastN is -5, expected at least -1"},
		{"DRY breaker empty", Params{DRYSequenceBreakers: []string{"a", ""}},
			`DRYSequenceBreakers[1] is "" of 0 bytes, expected 1 to 40`},
		{"DRY breaker long", Params{DRYSequenceBreakers: []string{strings.Repeat("a", 41)}},
			"of 41 bytes, expected 1 to 40"},
		{"DRY breaker token", Params{DRYBreakerTokens: []int32{1, 10}}, "DRYBreakerTokens[1] is 10, expected 0 to 9"},
		{"DRY breaker token negative", Params{DRYBreakerTokens: []int32{-1}},
			"DRYBreakerTokens[0] is -1, expected 0 to 9"},
		{"mirostat 1", Params{Mirostat: 1, MirostatTau: 5, MirostatEta: 0.1}, "Mirostat is 1, expected 0 or 2"},
		{"mirostat tau", Params{Mirostat: 2}, "MirostatTau is 0, expected 1.175e-38 to"},
		{"mirostat eta", Params{Mirostat: 2, MirostatTau: 5, MirostatEta: -1}, "MirostatEta is -1, expected 0 to"},
		{"bias id", bias(10, 1), "LogitBias is for token 10, expected 0 to 9"},
		{"bias id negative", bias(-1, 1), "LogitBias is for token -1, expected 0 to 9"},
		{"bias NaN", bias(4, nan), "LogitBias[4] is NaN, expected a finite number or -Inf"},
		{"bias infinite", bias(4, inf), "LogitBias[4] is +Inf, expected a finite number or -Inf"},
		{"top log-probs", Params{TopLogProbs: 11}, "TopLogProbs is 11, expected 0 to 10"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s, err := New(test.p, vocab, Options{TokenText: text})
			if s != nil || err == nil || !strings.Contains(err.Error(), "sample: ") ||
				!strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, %v, want %q", s, err, test.want)
			}
		})
	}
	if _, err := New(Params{}, 0, Options{}); err == nil ||
		!strings.Contains(err.Error(), "the vocabulary has 0 tokens, expected 1 to") {
		t.Errorf("a vocabulary of none: %v", err)
	}
	p := Default()
	if _, err := New(p, vocab, Options{}); err != nil {
		t.Errorf("the defaults: %v", err)
	}
	p.DRYMultiplier = 1
	if _, err := New(p, vocab, Options{}); err == nil ||
		!strings.Contains(err.Error(), "expected none, or Options.TokenText") {
		t.Errorf("breakers without texts: %v", err)
	}
}

func TestRejectLogits(t *testing.T) {
	f := func(v ...float64) (l []float32) {
		for _, x := range v {
			l = append(l, float32(x))
		}
		return l
	}
	ban := map[int32]float32{0: float32(-inf), 1: float32(-inf), 2: float32(-inf)}
	tests := []struct {
		name   string
		p      Params
		only   []int32
		logits []float32
		want   string
		none   bool
	}{
		{"too few", Params{}, nil, f(1, 2), "found 2 logits, expected 3", false},
		{"too many", Params{}, nil, f(1, 2, 3, 4), "found 4 logits, expected 3", false},
		{"NaN", Params{}, nil, f(1, nan, 3), "logits[1] is NaN, expected a number", false},
		{"NaN first", Params{}, nil, f(nan, nan, 3), "logits[0] is NaN, expected a number", false},
		{"infinite", Params{}, nil, f(1, 2, inf), "logits[2] is +Inf, expected a finite number or -Inf", false},
		{"all -Inf", Params{}, nil, f(-inf, -inf, -inf), "all 3 are banned or have a logit of -Inf", true},
		{"all -Inf, drawn", Params{Temperature: 1}, nil, f(-inf, -inf, -inf), "all 3 are banned", true},
		{"all -Inf, top-k", Params{Temperature: 1, TopK: 2}, nil, f(-inf, -inf, -inf), "all 3 are banned", true},
		{"all -Inf, sigma", Params{Temperature: 1, TopNSigma: 2}, nil, f(-inf, -inf, -inf), "all 3 are banned", true},
		{"all -Inf, mirostat", Params{Mirostat: 2, MirostatTau: 1}, nil, f(-inf, -inf, -inf), "all 3 are banned", true},
		{"bias bans all", Params{LogitBias: ban}, nil, f(1, 2, 3), "all 3 are banned", true},
		{"constraint bans all", Params{}, []int32{}, f(1, 2, 3), "(the constraint allows 0)", true},
		{"both ban all", Params{LogitBias: map[int32]float32{1: float32(-inf)}}, []int32{1}, f(1, 2, 3),
			"(the constraint allows 1)", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			o := Options{}
			if test.only != nil {
				o.Constraint = Constrain(&only{list: test.only})
			}
			s, err := New(test.p, 3, o)
			if err != nil {
				t.Fatal(err)
			}
			if c, err := s.Sample(test.logits); err == nil || !strings.Contains(err.Error(), test.want) ||
				errors.Is(err, ErrNoCandidate) != test.none {
				t.Fatalf("got %v, %v, want %q", c, err, test.want)
			}
		})
	}
}

func TestRejectAccept(t *testing.T) {
	c := &only{list: []int32{1}}
	p := Params{RepeatLastN: -1, RepeatPenalty: 2}
	s, err := New(p, 3, Options{Constraint: Constrain(c)})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.AcceptPrompt(2, 2); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		err  error
		want string
	}{
		{s.Accept(3), "accepted token 3, expected 0 to 2"},
		{s.Accept(-1), "accepted token -1, expected 0 to 2"},
		{s.Accept(2), "sample: token 2 is not in the list"},
		{s.AcceptPrompt(0, 1, 7), "token 2 of the prompt is 7, expected 0 to 2"},
	} {
		if test.err == nil || !strings.Contains(test.err.Error(), test.want) {
			t.Errorf("got %v, want %q", test.err, test.want)
		}
	}
	if n := s.history.tokens; len(n) != 2 || s.counts[2] != 2 || s.counts[0] != 0 || c.accepted != 0 {
		t.Errorf("after errors: history %v, counts %v, %d accepted; want what was before", n, s.counts, c.accepted)
	}
	s.o.Constraint = Constrain(&only{err: errors.New("too hard")})
	if _, err := s.Sample(make([]float32, 3)); err == nil || err.Error() != "sample: too hard" {
		t.Errorf("an error of Mask: %v", err)
	}
}

// only is a constraint that allows the tokens of a list, at first, and then one fewer with each.
type only struct {
	list     []int32
	accepted int
	err      error
}

func (o *only) Mask(mask []uint64) error {
	for i := range mask {
		mask[i] = 0xffffffffffffffff // what is past the vocabulary must not matter
	}
	for id := range 64 * len(mask) {
		if !o.has(int32(id)) && id < 64*len(mask)-1 {
			mask[id/64] &^= 1 << (id % 64)
		}
	}
	return o.err
}

func (o *only) has(id int32) bool {
	for _, x := range o.list[min(o.accepted, len(o.list)):] {
		if x == id {
			return true
		}
	}
	return false
}

func (o *only) Accept(id int32) error {
	if !o.has(id) {
		return errors.New("token " + string('0'+id) + " is not in the list")
	}
	o.accepted++
	return nil
}

func (o *only) Reset() { o.accepted = 0 }

func (o *only) Clone() *only { c := *o; return &c }
