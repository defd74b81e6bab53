package engine

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"slices"

	"cera/backend"
	"cera/internal/storymodel"
	"cera/layers"
	"cera/trace"
)

// Dump is Capture to an .npz file, in memory that does not grow with the number of tokens, with a manifest inside.
// version is the program's. The file appears whole or, after an error or where ctx ends, not at all. It returns the
// sites that were written.
func (e *Engine) Dump(ctx context.Context, path, version string, tokens []int32,
	want func(site string) bool) (sites []string, err error) {
	w, err := trace.Create(path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if cerr := w.Close(); err == nil {
			err = cerr
		}
	}()
	if _, err := e.record(ctx, tokens, want, w); err != nil {
		return nil, err
	}
	w.Tokens = tokens
	if w.Manifest, err = e.manifest(ctx, version, len(tokens), w.Sites()); err != nil {
		return nil, err
	}
	return w.Sites(), w.Finish()
}

// record runs tokens as a fresh sequence, moves what it captures of each batch to a sink, and returns the weights of
// the norms as read back from the device, by site; see Capture.
func (e *Engine) record(ctx context.Context, tokens []int32, want func(site string) bool,
	to trace.Sink) (map[string][]float32, error) {
	e.Reset()
	rec := trace.NewRecorder(e.be, want)
	defer func() {
		if e.turn.take() == nil {
			rec.Close()
			e.turn.Unlock()
		}
	}()
	all := want("logits") || slices.ContainsFunc(layers.HeadSites, want)
	err := e.main.run(ctx, tokens, rec, func(rows int) error {
		if !all {
			return rec.Collect(to)
		}
		return e.main.slices(rows, func(lo, hi int) error {
			t := e.main.state.Logits(lo, hi, rec)
			if want("logits") {
				rec.Site("logits", t, backend.Tensor{})
			}
			return rec.Collect(to)
		})
	})
	return rec.Weights(), cmp.Or(rec.SinkErr(), err)
}

// manifest describes a run of n tokens. Reading the model for its checksum may take as long as loading it did.
func (e *Engine) manifest(ctx context.Context, version string, n int, sites []string) (*trace.Manifest, error) {
	sum, err := e.checksum(ctx)
	if err != nil {
		return nil, err
	}
	info := e.Info()
	return &trace.Manifest{
		Schema:  trace.ManifestSchema,
		Engine:  "cera",
		Version: version,
		Model:   e.file.Path,
		SHA256:  sum,
		Tokens:  n,
		Device:  info.Backend,
		Adapter: info.Adapter,
		Driver:  info.Driver,
		Library: info.Library,
		Norms:   e.main.state.Form().String(),
		Sites:   sites,
	}, nil
}

// checksum returns the SHA-256 of the model's files one after the other, in hex. The built-in model is in
// no file: its bytes are in the program. It is empty for another model that was not opened by path.
func (e *Engine) checksum(ctx context.Context) (string, error) {
	h := sha256.New()
	parts := e.file.Parts()
	inMemory := len(parts) == 1 && parts[0] == ""
	if inMemory && e.file.Path == BuiltInName {
		if _, err := storymodel.Reader().WriteTo(h); err != nil {
			return "", err
		}
		return hex.EncodeToString(h.Sum(nil)), nil
	}
	if inMemory {
		return "", nil
	}
	for _, path := range parts {
		if err := addFile(ctx, h, path); err != nil {
			return "", fmt.Errorf("checksum: %w", err)
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// addFile copies a file to w until ctx ends.
func addFile(ctx context.Context, w io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := io.CopyN(w, f, 1<<24); err == io.EOF {
			return nil
		} else if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
}
