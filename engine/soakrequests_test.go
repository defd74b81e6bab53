package engine_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"cera/check"
	"cera/engine"
	"cera/internal/hostile"
	"cera/sample"
	"cera/tokenizer"
)

// soakKinds are the kinds of requests of a soak.
var soakKinds = []string{"check", "greedy", "drawn", "turns", "cancel", "dump", "refuse"}

// soakPrompts begin the texts of a soak.
var soakPrompts = []string{"Once upon a time", "Tom", "The little dog", "One day, Lily went to the park."}

const (
	soakSeeds  = 3
	soakTokens = 20 // of a text
	soakTurns  = 3
)

// soakDevice is a loaded model with what its requests must give.
type soakDevice struct {
	name string
	e    *engine.Engine
	tok  *tokenizer.Tokenizer
	dir  string
	bad  []string
	own  sync.Mutex // of the engine's own sequence, which checks and dumps run on

	mu   sync.Mutex
	want map[string]string // what a request gave the first time
}

// badFiles makes the files that no engine may open, of up to a mebibyte.
func badFiles(t *testing.T) []string {
	t.Helper()
	var list []string
	for _, row := range hostile.Rows() {
		if row.Stage > hostile.Load {
			continue
		}
		path, err := row.Make(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Size() <= 1<<20 {
			list = append(list, path)
		}
	}
	if len(list) < 100 {
		t.Fatalf("%d bad files, expected at least 100", len(list))
	}
	return list
}

func textKey(prompt, seed int) string { return fmt.Sprintf("text %d with seed %d", prompt, seed) }
func turnsKey(prompt int) string      { return fmt.Sprintf("turns after %d", prompt) }
func dumpKey(prompt int) string       { return fmt.Sprintf("dump of %d", prompt) }

// request makes a request of a kind and compares what comes out with what must.
func (d *soakDevice) request(kind string, rng *rand.Rand) error {
	prompt, seed := rng.IntN(len(soakPrompts)), 0
	switch kind {
	case "check":
		d.own.Lock()
		defer d.own.Unlock()
		drift := engine.DriftOff
		if rng.IntN(4) == 0 {
			drift = engine.DriftOn
		}
		r, err := d.e.Check(ctx, d.ids(soakPrompts[prompt]), drift)
		if err == nil && r.Verdict != check.Pass {
			err = fmt.Errorf("verdict %s: %+v", r.Verdict, r.First)
		}
		return err
	case "drawn":
		seed = 1 + rng.IntN(soakSeeds)
		fallthrough
	case "greedy":
		got, err := d.text(ctx, prompt, seed)
		return d.same(textKey(prompt, seed), got, err)
	case "turns":
		got, err := d.turns(prompt)
		return d.same(turnsKey(prompt), got, err)
	case "cancel":
		seed = rng.IntN(soakSeeds + 1)
		c, cancel := context.WithCancel(ctx)
		defer cancel()
		timer := time.AfterFunc(time.Duration(rng.IntN(300_000))*time.Microsecond, cancel)
		defer timer.Stop()
		got, err := d.text(c, prompt, seed)
		d.mu.Lock()
		defer d.mu.Unlock()
		if want, ok := d.want[textKey(prompt, seed)]; err == nil && ok && !strings.HasPrefix(want, got) {
			err = fmt.Errorf("%s, cancelled: %q, expected the beginning of %q", textKey(prompt, seed), got, want)
		}
		return err
	case "dump":
		got, err := d.dump(prompt)
		return d.same(dumpKey(prompt), got, err)
	case "refuse":
		path := d.bad[rng.IntN(len(d.bad))]
		e, err := engine.Open(path, engine.Options{Device: "cpu"})
		if err == nil {
			e.Close()
			return fmt.Errorf("%s: taken for a model", path)
		}
		return nil
	}
	return fmt.Errorf("unknown kind %q", kind)
}

// same compares with what the request gave the first time.
func (d *soakDevice) same(what, got string, err error) error {
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	want, ok := d.want[what]
	if !ok {
		d.want[what] = got
	} else if got != want {
		return fmt.Errorf("%s: %q, the first time %q", what, got, want)
	}
	return nil
}

func (d *soakDevice) ids(text string) []int32 {
	return d.tok.Encode(text, tokenizer.EncodeOptions{AddSpecial: true})
}

// generated lets a session go on from a text.
func (d *soakDevice) generated(c context.Context, s *engine.Session, text string, seed int) (string, error) {
	o := engine.GenerateOptions{Max: soakTokens, IgnoreEnd: true}
	if seed > 0 {
		o.Sample = sample.Params{Temperature: 0.9, TopK: 40, TopP: 0.95, Seed: uint64(seed)}
	}
	var b strings.Builder
	_, _, err := s.Generate(c, d.tok, d.ids(text), o, func(g engine.Generated) error {
		b.WriteString(g.Text)
		return nil
	})
	return b.String(), err
}

// text goes on from a prompt on a session of its own.
func (d *soakDevice) text(c context.Context, prompt, seed int) (string, error) {
	s, err := d.e.NewSession(64)
	if err != nil {
		return "", err
	}
	defer s.Close()
	return d.generated(c, s, soakPrompts[prompt], seed)
}

// turns goes on in several turns, each with all that was said before, of which the cache holds a part.
func (d *soakDevice) turns(prompt int) (string, error) {
	s, err := d.e.NewSession(0)
	if err != nil {
		return "", err
	}
	defer s.Close()
	said := soakPrompts[prompt]
	for turn := range soakTurns {
		answer, err := d.generated(ctx, s, said, turn)
		if err != nil {
			return "", err
		}
		said += answer + "\n"
	}
	return said, nil
}

// dump writes a trace and returns the checksum of the file, which is then removed.
func (d *soakDevice) dump(prompt int) (string, error) {
	d.own.Lock()
	defer d.own.Unlock()
	path := filepath.Join(d.dir, "trace.npz")
	if _, err := d.e.Dump(ctx, path, "soak", d.ids(soakPrompts[prompt]), everySite); err != nil {
		return "", err
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	left, err := os.ReadDir(d.dir)
	if err != nil {
		return "", err
	}
	if len(left) != 1 {
		return "", fmt.Errorf("%d files beside the dump", len(left)-1)
	}
	return fmt.Sprintf("%x", sha256.Sum256(b)), os.Remove(path)
}
