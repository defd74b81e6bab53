package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"cera/backend"
	"cera/gguf"
	"cera/trace"
	"cera/weights"
)

// quantizeTypes are the formats that Quantize writes, with ggml's numbers for files that consist mostly of them.
var quantizeTypes = []struct {
	format   backend.Format
	fileType uint32
}{
	{backend.F16, 1},
	{backend.BF16, 32},
	{backend.Q8_0, 7},
	{backend.Q4_0, 2},
	{backend.Q4_K, 14},
}

// QuantizeTypes lists the types that QuantizeOptions.Type may name.
func QuantizeTypes() []string {
	var names []string
	for _, q := range quantizeTypes {
		names = append(names, q.format.String())
	}
	return names
}

// QuantizeOptions says what Quantize writes.
type QuantizeOptions struct {
	Type     string                // one of QuantizeTypes, in upper or lower case
	Force    bool                  // an existing file is replaced
	Progress func(QuantizedTensor) // called before each tensor; may be nil
}

// QuantizedTensor says what becomes of a tensor.
type QuantizedTensor struct {
	Name       string
	Dims       []uint64 // GGUF order, row length first
	From, To   string   // types
	Reason     string   // why To is not the type that was asked for, where the tensor is a matrix to re-encode
	Index, All int      // which tensor of how many, from 0
	Bytes      uint64   // size in the new file
}

// Quantize writes the file f to out with its weight matrices re-encoded: the tensors named *.weight of two or three
// dimensions, but for norms, routers of a mixture and rope factors. A matrix whose rows are no whole number of blocks
// becomes F16. Metadata and all other tensors are copied as they are. The new file appears whole or not at all, and
// only one tensor of it is held in memory. An element that is not finite, or beyond the range of F16 where that is
// written, is an error that names it; without Force an existing file is one that wraps fs.ErrExist.
func Quantize(ctx context.Context, f *gguf.File, out string, o QuantizeOptions) error {
	format, fileType, err := quantizeType(o.Type)
	if err != nil {
		return err
	}
	if err := mayWrite(f, out, o.Force); err != nil {
		return err
	}
	w := gguf.NewWriter()
	copyKeys(w, f, fileType)
	for i := range f.Tensors {
		t := &f.Tensors[i]
		to, reason := quantizedType(t, format)
		row, err := to.RowBytes(uint64(t.N()))
		if err != nil {
			return fmt.Errorf("%s: tensor %q: %w", f.Path, t.Name, err)
		}
		step := QuantizedTensor{
			Name: t.Name, Dims: t.Dims, From: t.Type.String(), To: to.String(), Reason: reason,
			Index: i, All: len(f.Tensors), Bytes: row * uint64(t.Rows()),
		}
		w.AddFunc(t.Name, to, t.Dims, func() ([]byte, error) {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if o.Progress != nil {
				o.Progress(step)
			}
			data, err := recode(ctx, f, t, to)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", f.Path, err)
			}
			return data, nil
		})
	}
	return trace.WriteFile(out, func(dst io.Writer) error {
		_, err := w.WriteTo(dst)
		return err
	})
}

// quantizeType finds a type by name.
func quantizeType(name string) (f backend.Format, fileType uint32, err error) {
	for _, q := range quantizeTypes {
		if strings.EqualFold(q.format.String(), name) {
			return q.format, q.fileType, nil
		}
	}
	return 0, 0, fmt.Errorf("type %q is not one of %s", name, strings.Join(QuantizeTypes(), ", "))
}

// mayWrite says why out must not be written: it is the input, or exists.
func mayWrite(f *gguf.File, out string, force bool) error {
	to, err := os.Stat(out)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, part := range f.Parts() {
		if from, err := os.Stat(part); err == nil && os.SameFile(from, to) {
			return fmt.Errorf("%s is the input: a model cannot be re-encoded in place", out)
		}
	}
	if !force {
		return fmt.Errorf("%s: %w", out, fs.ErrExist)
	}
	return nil
}

const (
	keyFileType     = "general.file_type"
	keyQuantVersion = "general.quantization_version"
	prefixSplit     = "split."
)

// copyKeys copies the metadata, but for what says how the file is encoded or was split.
func copyKeys(w *gguf.Writer, f *gguf.File, fileType uint32) {
	changed := map[string]uint32{keyFileType: fileType, keyQuantVersion: 2}
	for _, kv := range f.Keys {
		v, change := changed[kv.Key]
		switch {
		case change:
			w.Set(kv.Key, v)
			delete(changed, kv.Key)
		case !strings.HasPrefix(kv.Key, prefixSplit):
			w.Set(kv.Key, kv.Value)
		}
	}
	for _, key := range []string{keyFileType, keyQuantVersion} {
		if v, ok := changed[key]; ok {
			w.Set(key, v)
		}
	}
}

// quantizedType returns the type that t gets, and why it is not the format that was asked for.
func quantizedType(t *gguf.Tensor, asked backend.Format) (gguf.Type, string) {
	if !isMatrix(t) {
		return t.Type, ""
	}
	reason := ""
	if t.N()%asked.Block() != 0 {
		reason = fmt.Sprintf("rows of %d are no multiple of %s's block of %d", t.N(), asked, asked.Block())
		asked = backend.F16
	}
	to, err := weights.TypeOf(asked)
	if _, errFrom := weights.FormatOf(t.Type); err != nil || errFrom != nil {
		return t.Type, "it has no decoder"
	}
	return to, reason
}

// isMatrix tells the weight matrices from what stays as it is.
func isMatrix(t *gguf.Tensor) bool {
	dims := t.Dims
	for len(dims) > 0 && dims[len(dims)-1] == 1 {
		dims = dims[:len(dims)-1]
	}
	if len(dims) < 2 || len(dims) > 3 || !strings.HasSuffix(t.Name, ".weight") {
		return false
	}
	for _, part := range []string{"norm", "ffn_gate_inp", "rope_freqs", "rope_factors"} {
		if strings.Contains(t.Name, part) {
			return false
		}
	}
	return true
}

// recode returns the data of t in another type.
func recode(ctx context.Context, f *gguf.File, t *gguf.Tensor, to gguf.Type) ([]byte, error) {
	if t.Type == to {
		var same []byte
		err := f.View(t, func(data []byte) error {
			same = make([]byte, len(data))
			for to := same; len(to) > 0; {
				if err := ctx.Err(); err != nil {
					return err
				}
				n := copy(to[:min(len(to), 1<<20)], data)
				to, data = to[n:], data[n:]
			}
			return nil
		})
		return same, err
	}
	fromFormat, err := weights.FormatOf(t.Type)
	if err != nil {
		return nil, err
	}
	toFormat, err := weights.FormatOf(to)
	if err != nil {
		return nil, err
	}
	out := make([]byte, t.Rows()*toFormat.RowBytes(t.N()))
	return out, f.View(t, func(data []byte) error {
		return weights.Recode(out, toFormat, data, fromFormat, t.Rows(), t.N())
	})
}
