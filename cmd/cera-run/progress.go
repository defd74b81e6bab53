package main

import (
	"io"
	"os"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// progress shows bytes uploaded, on a terminal only.
type progress struct {
	w   io.Writer // nil: quiet
	bar *progressbar.ProgressBar
}

func newProgress(w io.Writer, quiet bool) *progress {
	if quiet || !isTerminal(w) {
		w = nil
	}
	return &progress{w: w}
}

func isTerminal(w io.Writer) bool {
	if out, ok := w.(*output); ok {
		w = out.w
	}
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

func (p *progress) update(_ string, done, all int64) {
	if p.w == nil {
		return
	}
	if p.bar == nil {
		p.bar = progressbar.NewOptions64(all,
			progressbar.OptionSetWriter(p.w),
			progressbar.OptionSetDescription("loading weights"),
			progressbar.OptionShowBytes(true),
			progressbar.OptionSetWidth(30),
			progressbar.OptionFullWidth(),
		)
	}
	p.bar.Set64(done) //nolint:errcheck // a progress bar that cannot be drawn is no reason to stop
}

func (p *progress) finish() {
	if p.bar != nil {
		io.WriteString(p.w, "\n") //nolint:errcheck
	}
}
