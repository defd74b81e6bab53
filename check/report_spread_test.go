package check

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// TestSpread: what a report says of tokens and channels agrees with its aspects, and points at the fault.
func TestSpread(t *testing.T) {
	s := newSynth(t, "ffn_norm-1", func(c *call) {
		c.run()
		c.out[3*synthWidth+7] *= 1.01
		c.out[5*synthWidth+9] *= 1.001
	})
	for _, site := range Norms(s.Input).Sites {
		if len(site.TokenRatios) != synthTokens || len(site.TokenDrift) != synthTokens ||
			len(site.Channels) != worstChannels {
			t.Fatalf("%s: %d ratios, %d drifts, %d channels", site.Site, len(site.TokenRatios), len(site.TokenDrift),
				len(site.Channels))
		}
		if top := slices.Max(site.TokenRatios); top != site.Norm.Ratio || site.TokenRatios[site.Norm.Token] != top {
			t.Errorf("%s: the worst token is %g, the norm's error %g", site.Site, top, site.Norm.Ratio)
		}
		if c := site.Channels[0]; c.Channel != site.Norm.Channel || c.Ratio != site.Norm.Ratio {
			t.Errorf("%s: the worst channel is %+v, the norm's %d", site.Site, c, site.Norm.Channel)
		}
		if !slices.IsSortedFunc(site.Channels,
			func(a, b ChannelRatio) int { return int(math.Copysign(1, float64(b.Ratio-a.Ratio))) }) {
			t.Errorf("%s: channels are out of order: %v", site.Site, site.Channels)
		}
		wrong := 0
		for _, r := range site.TokenRatios {
			if r > 1 {
				wrong++
			}
		}
		if want := map[bool]int{true: 2}[site.Site == "ffn_norm-1"]; wrong != want {
			t.Errorf("%s: %d tokens are wrong, want %d", site.Site, wrong, want)
		}
		if site.Site == "ffn_norm-1" && site.Channels[1].Channel != 9 {
			t.Errorf("the second worst channel is %d, want 9", site.Channels[1].Channel)
		}
		stream, _, _, ok := s.Trace.Data(map[string]string{"attn_norm-0": "embd"}[site.Site])
		if ok {
			var sum float64
			for _, v := range stream {
				sum += float64(v) * float64(v) / float64(len(stream))
			}
			if got := float64(*site.ResidualRMS); math.Abs(got-math.Sqrt(sum)) > 1e-12 {
				t.Errorf("residual RMS %g, want %g", got, math.Sqrt(sum))
			}
		}
	}
}

func TestTableColor(t *testing.T) {
	r := columns()
	r.Model = "FAIL.gguf"
	var colored, plain strings.Builder
	if err := r.WriteTableWith(&colored, TableOptions{Color: true}); err != nil {
		t.Fatal(err)
	}
	if err := r.WriteTableWith(&plain, TableOptions{}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(plain.String(), "\x1b") || plain.String() != reportText(t, r) {
		t.Error("the plain table is not plain")
	}
	stripped := strings.NewReplacer("\x1b[32m", "", "\x1b[1;31m", "", "\x1b[33m", "", colorOff,
		"").Replace(colored.String())
	if stripped != plain.String() {
		t.Errorf("without its colours the table is\n%s\nwant\n%s", stripped, plain.String())
	}
	for _, want := range []string{"model   FAIL.gguf", "\x1b[1;31mFAIL\x1b[0m NaN",
		"\n\x1b[1;31mFAIL\x1b[0m: 1 norms passed"} {
		if !strings.Contains(colored.String(), want) {
			t.Errorf("%q is not in %q", want, colored.String())
		}
	}
	if err := r.WriteTableWith(&fullDisk{0}, TableOptions{Color: true}); err == nil {
		t.Error("a table that could not be written gave no error")
	}
}
