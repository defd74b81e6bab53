package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cera/engine"
	"cera/gguf"
	"cera/tinymodel"
	"cera/trace"
)

// q2File writes a tiny model whose matrices of 64 columns are in Q2_0, which a GPU has no decoder for.
func q2File(t *testing.T) string {
	t.Helper()
	var buf bytes.Buffer
	if _, err := tinymodel.Write(&buf, tinymodel.Default()); err != nil {
		t.Fatal(err)
	}
	f, err := gguf.NewFile(bytes.NewReader(buf.Bytes()), int64(buf.Len()))
	if err != nil {
		t.Fatal(err)
	}
	w := gguf.NewWriter()
	for _, kv := range f.Keys {
		w.Set(kv.Key, kv.Value)
	}
	for i := range f.Tensors {
		ts := &f.Tensors[i]
		data, err := f.Data(ts)
		if err != nil {
			t.Fatal(err)
		}
		typ := ts.Type
		if typ == gguf.Q8_0 {
			// The levels are bytes of the old encoding; a scale of 2^-4 makes elements of 1/16.
			typ, data = gguf.Q2_0, data[:ts.Rows()*gguf.Q2_0.BlockBytes()]
			data = bytes.Clone(data)
			for at := 0; at < len(data); at += gguf.Q2_0.BlockBytes() {
				binary.LittleEndian.PutUint16(data[at:], 0x2c00)
			}
		}
		w.Add(ts.Name, typ, ts.Dims, data)
	}
	path := filepath.Join(t.TempDir(), "q2.gguf")
	if err := trace.WriteFile(path, func(dst io.Writer) error { _, err := w.WriteTo(dst); return err }); err != nil {
		t.Fatal(err)
	}
	return path
}

// What a device holds in another format than the file is said: by inspect for a GPU, and by a command that runs there.
func TestNotes(t *testing.T) {
	path := q2File(t)
	const note = "26 tensors in Q2_0 are re-encoded to F16"
	cera := func(args ...string) (stdout, stderr string) {
		t.Helper()
		var out, errOut writer
		if code := run(context.Background(), args, &out, &errOut); code != 0 {
			t.Errorf("%q: exit code %d\n%s%s", args, code, out.text, errOut.text)
		}
		return out.text, errOut.text
	}
	if out, _ := cera("inspect", path); !strings.Contains(out, "on a GPU: "+note+"\n") {
		t.Errorf("inspect says\n%s", out)
	}
	if out, _ := cera("inspect", "--json", path); !strings.Contains(out, `"`+note+`"`) {
		t.Errorf("inspect --json says\n%s", out)
	}
	if _, errOut := cera("check", "--device", "cpu", path); errOut != "" {
		t.Errorf("check on the cpu says\n%s", errOut)
	}
	be, err := engine.OpenDevice(engine.Options{Device: "gpu"})
	if errors.Is(err, engine.ErrNoDevice) && os.Getenv("CERA_REQUIRE_GPU") == "" {
		t.Skipf("SKIPPED on the GPU: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	be.Close()
	if _, errOut := cera("check", "--quiet", "--device", "gpu",
		path); errOut != "note: "+note+", for the gpu has no decoder for them\n" {
		t.Errorf("check on the GPU says\n%s", errOut)
	}
}
