package engine_test

import (
	"os"
	"testing"

	"cera/engine"
)

// BenchmarkCheck puts a check of the norms beside what it consists of, with 64 tokens of the model in CERA_MODEL: "forward" is the
// plain pass, "capture" the same with everything that the check wants read back, "check" all of it, float64 included.
func BenchmarkCheck(b *testing.B) {
	path := os.Getenv("CERA_MODEL")
	if path == "" {
		b.Skip("SKIPPED: set CERA_MODEL to a model file")
	}
	e, err := engine.Open(path, engine.Options{Device: "gpu", Ctx: 64})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	tokens := engine.DefaultTokens(e.Config().Vocab, 64)
	norms := map[string]bool{}
	for _, s := range e.NormSites() {
		for _, site := range []string{s.In, s.Delta, s.Stream, s.Site} {
			norms[site] = true
		}
	}
	for _, c := range []struct {
		name string
		run  func() error
	}{
		{"forward", func() error { e.Reset(); _, err := e.Eval(ctx, tokens); return err }},
		{"capture", func() error {
			_, err := e.Capture(ctx, tokens, func(site string) bool { return norms[site] })
			return err
		}},
		{"check", func() error { _, err := e.Check(ctx, tokens, engine.DriftOff); return err }},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				if err := c.run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
