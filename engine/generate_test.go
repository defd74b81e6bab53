package engine_test

import (
	"context"
	"errors"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"cera/engine"
	"cera/sample"
	"cera/tokenizer"
)

// stories opens the trained model with its tokenizer.
func stories(t *testing.T, o engine.Options) (*engine.Engine, *tokenizer.Tokenizer) {
	t.Helper()
	e := open(t, shared(t, "models/trained/stories260K.gguf"), o)
	tok, err := e.Tokenizer(tokenizer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return e, tok
}

// generated runs Generate and collects the text.
func generated(t *testing.T, s *engine.Session, tok *tokenizer.Tokenizer, prompt string,
	o engine.GenerateOptions) (text string, ids []int32, why engine.Finish) {
	t.Helper()
	tokens := tok.Encode(prompt, tokenizer.EncodeOptions{AddSpecial: true})
	why, _, err := s.Generate(ctx, tok, tokens, o, func(g engine.Generated) error {
		text += g.Text
		if g.ID != tokenizer.None {
			ids = append(ids, g.ID)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return text, ids, why
}

func session(t *testing.T, e *engine.Engine, ctx int) *engine.Session {
	t.Helper()
	s, err := e.NewSession(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// TestGenerateStory compares 200 greedy steps from an empty prompt with the published text, by the device's own choice
// and by the host's.
func TestGenerateStory(t *testing.T) {
	want, err := os.ReadFile(shared(t, "golden/reference/stories260K-expected-200-steps.txt"))
	if err != nil {
		t.Fatal(err)
	}
	eachDevice(t, func(t *testing.T, device string) {
		e, tok := stories(t, engine.Options{Device: device})
		for name, p := range map[string]sample.Params{"device": {}, "host": {TopLogProbs: 1}} {
			text, ids, why := generated(t, session(t, e, 0), tok, "", engine.GenerateOptions{Max: 200, Sample: p})
			if text != strings.TrimRight(string(want), "\n") || len(ids) != 200 || why != engine.FinishLength {
				t.Errorf("chosen on the %s: %d tokens, %s:\n%s\nwant\n%s", name, len(ids), why, text, want)
			}
		}
	})
}

// TestGenerateAhead: what the device draws is the text of the host's sampler with the same seed, also where the device
// guesses wrong, after a stop, past the end of the context, and in the turn after that.
func TestGenerateAhead(t *testing.T) {
	short := map[string]int{"hot": 2, "likeliest of the typical": 0, "guesses go wrong": 1} // the default has all three
	eachDevice(t, func(t *testing.T, device string) {
		e, tok := stories(t, engine.Options{Device: device})
		for name, p := range map[string]sample.Params{
			"default":                  sample.Default(),
			"hot":                      {Temperature: 3, TopK: 64, TopP: 0.9},
			"likeliest of the typical": {TypicalP: 0.3},
			"guesses go wrong":         {Temperature: 2, TopK: 40, MinP: 0.9, MinKeep: 6},
		} {
			p.Seed = 11
			for i, o := range []engine.GenerateOptions{
				{Max: 50, Sample: p, IgnoreEnd: true},
				{Max: 30, Sample: p, IgnoreEnd: true, Shift: true, Keep: 1},
				{Max: 40, Sample: p, Stop: []string{"e ", "."}},
			} {
				if one, ok := short[name]; ok && i != one && device == "gpu" && !full() {
					continue
				}
				size := 0
				if o.Shift {
					size = 24
				}
				ahead, host := session(t, e, size), session(t, e, size)
				for _, prompt := range []string{"Once upon a time", "Once upon a time, Tom"} {
					got, ids, why := generated(t, ahead, tok, prompt, o)
					o.LogProbs = true
					want, wantIDs, wantWhy := generated(t, host, tok, prompt, o)
					o.LogProbs = false
					if got != want || !slices.Equal(ids, wantIDs) || why != wantWhy {
						t.Errorf("%s, %q, shift %v: %s\n%s\nwant, as the host chooses, %s\n%s", name, prompt, o.Shift,
							why, got, wantWhy, want)
					}
					if !slices.Equal(ahead.Tokens(), host.Tokens()) {
						t.Errorf("%s, %q, shift %v: the cache has %v, want %v", name, prompt, o.Shift, ahead.Tokens(),
							host.Tokens())
					}
				}
			}
		}
	})
}

// TestGenerateSame says where the text must be that of a fresh run: whatever the batches, whatever of the prompt the
// cache has, whatever ran on the session before.
func TestGenerateSame(t *testing.T) {
	eachDevice(t, func(t *testing.T, device string) {
		e, tok := stories(t, engine.Options{Device: device})
		small, _ := stories(t, engine.Options{Device: device, UBatch: 5})
		const prompt = "Once upon a time, there was a big dog named Max. Max liked to"
		for name, p := range map[string]sample.Params{
			"greedy": {}, "drawn": {Temperature: 0.8, TopK: 40, TopP: 0.95, Seed: 7, RepeatLastN: 64,
				RepeatPenalty: 1.1},
		} {
			o := engine.GenerateOptions{Max: 60, Sample: p}
			if device == "gpu" && !full() {
				o.Max = 20
			}
			want, wantIDs, _ := generated(t, session(t, e, 0), tok, prompt, o)
			same := func(what string, s *engine.Session) {
				t.Helper()
				if got, ids, _ := generated(t, s, tok, prompt, o); got != want || !slices.Equal(ids, wantIDs) {
					t.Errorf("%s, %s:\n%s\nwant\n%s", name, what, got, want)
				}
			}
			same("prompt in chunks", session(t, small, 0))
			s := session(t, e, 0)
			same("a fresh session", s)
			same("the same prompt again", s)
			generated(t, s, tok, "Once upon a time, there was a cat", o)
			same("after a prompt that begins the same", s)
			generated(t, s, tok, prompt+" run. One day", o)
			same("after a longer prompt", s)
			s.Truncate(3)
			same("after a truncation", s)
		}
	})
}

// TestGenerateShift runs past the context: what stays is computed again, so that the text goes on as after a fresh run
// over it.
func TestGenerateShift(t *testing.T) {
	eachDevice(t, func(t *testing.T, device string) {
		e, tok := stories(t, engine.Options{Device: device})
		for name, p := range map[string]sample.Params{"device": {}, "host": {TopLogProbs: 1}} {
			s := session(t, e, 32)
			_, ids, why := generated(t, s, tok, "Once upon a time",
				engine.GenerateOptions{Max: 100, Sample: p, Keep: 1, Shift: true, IgnoreEnd: true})
			if len(ids) != 100 || why != engine.FinishLength {
				t.Fatalf("%s: %d tokens, %s", name, len(ids), why)
			}
			kept := s.Tokens()
			all := append(tok.Encode("Once upon a time", tokenizer.EncodeOptions{AddSpecial: true}), ids...)
			if kept[0] != all[0] || !slices.Equal(kept[1:], all[len(all)-len(kept):len(all)-1]) {
				t.Errorf("%s: the cache has %v of %v", name, kept, all)
			}
			logits, err := s.Eval(ctx, ids[99:])
			if err != nil {
				t.Fatal(err)
			}
			fresh, err := session(t, e, 33).Eval(ctx, append(kept, ids[99]))
			if err != nil {
				t.Fatal(err)
			}
			if n := nmse(logits, fresh); !(n <= 1e-12) {
				t.Errorf("%s: NMSE %.3g after shifts against a fresh run", name, n)
			}
			if _, ids, why := generated(t, session(t, e, 32), tok, "Once upon a time",
				engine.GenerateOptions{Sample: p, IgnoreEnd: true}); why != engine.FinishContext ||
				len(ids)+len(tok.Encode("Once upon a time", tokenizer.EncodeOptions{AddSpecial: true})) != 33 {
				t.Errorf("%s, without shifts: %d tokens, %s", name, len(ids), why)
			}
		}
	})
}

func TestGenerateStop(t *testing.T) {
	e, tok := stories(t, engine.Options{Device: "cpu"})
	full, _, _ := generated(t, session(t, e, 0), tok, "", engine.GenerateOptions{Max: 60})
	for _, stop := range []string{"Lily", " girl named Li", "outside in", ".", "e park. O", "Once"} {
		for name, p := range map[string]sample.Params{"device": {}, "host": {TopLogProbs: 1}} {
			s := session(t, e, 0)
			text, ids, why := generated(t, s, tok, "",
				engine.GenerateOptions{Max: 60, Sample: p, Stop: []string{"never", stop, ""}})
			if want := full[:strings.Index(full, stop)]; text != want || why != engine.FinishStop {
				t.Errorf("%s, stop at %q: %q, %s, want %q", name, stop, text, why, want)
			}
			if s.Len() != len(ids) {
				t.Errorf("%s, stop at %q: the cache has %d tokens after 1 and %d", name, stop, s.Len(), len(ids))
			}
		}
	}
	// What is held back for a stop text that does not come is not lost.
	if text, _, why := generated(t, session(t, e, 0), tok, "",
		engine.GenerateOptions{Max: 60, Stop: []string{full[len(full)-3:] + "!!"}}); text != full ||
		why != engine.FinishLength {
		t.Errorf("%q, %s, want %q", text, why, full)
	}
}

// TestGenerateCancel ends a generation from outside, and from emit.
func TestGenerateCancel(t *testing.T) {
	eachDevice(t, func(t *testing.T, device string) {
		e, tok := stories(t, engine.Options{Device: device})
		for name, p := range map[string]sample.Params{"device": {}, "host": {TopLogProbs: 1}} {
			cancelled, cancel := context.WithCancel(ctx)
			n := 0
			why, _, err := session(t, e, 0).Generate(cancelled, tok, []int32{1}, engine.GenerateOptions{Sample: p},
				func(engine.Generated) error {
					if n++; n == 5 {
						cancel()
					}
					return nil
				})
			if err != nil || why != engine.FinishCancel || n < 5 || n > 20 {
				t.Errorf("%s: %s after %d tokens, %v", name, why, n, err)
			}
			broken := errors.New("broken pipe")
			if _, _, err := session(t, e, 0).Generate(ctx, tok, []int32{1}, engine.GenerateOptions{Sample: p},
				func(engine.Generated) error { return broken }); !errors.Is(err, broken) {
				t.Errorf("%s: error %v, want that of emit", name, err)
			}
		}
	})
}

// TestGenerateMany runs sessions of one engine at the same time: each gives what it gives alone.
func TestGenerateMany(t *testing.T) {
	eachDevice(t, func(t *testing.T, device string) {
		e, tok := stories(t, engine.Options{Device: device})
		prompts := []string{"Once upon a time", "Lily and Tom", "The dog", "One day, a bird"}
		o := engine.GenerateOptions{Max: 30, Sample: sample.Params{Temperature: 0.7, Seed: 3}}
		var want []string
		for _, p := range prompts {
			text, _, _ := generated(t, session(t, e, 64), tok, p, o)
			want = append(want, text)
		}
		got := make([]string, len(prompts))
		var wg sync.WaitGroup
		for i, p := range prompts {
			s := session(t, e, 64)
			wg.Go(func() {
				_, _, err := s.Generate(ctx, tok, tok.Encode(p, tokenizer.EncodeOptions{AddSpecial: true}), o,
					func(g engine.Generated) error {
						got[i] += g.Text
						return nil
					})
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if !slices.Equal(got, want) {
			t.Errorf("together %q, alone %q", got, want)
		}
	})
}

// TestGenerateLong makes 10,000 tokens on one session, or, not at full length, 3,000: the heap does not grow with them.
func TestGenerateLong(t *testing.T) {
	e, tok := stories(t, engine.Options{Device: "cpu"})
	s := session(t, e, 48)
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	run := func(n int) {
		_, _, err := s.Generate(ctx, tok, []int32{1},
			engine.GenerateOptions{Max: n, Shift: true, IgnoreEnd: true, Keep: 1},
			func(engine.Generated) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
	}
	run(500)
	before := heap()
	tokens := 3000
	if full() {
		tokens = 10000
	}
	run(tokens)
	if after := heap(); after > before+1<<20 {
		t.Errorf("the heap grew from %d to %d bytes over %d tokens", before, after, tokens)
	}
}
