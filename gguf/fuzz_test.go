package gguf

import (
	"bytes"
	"errors"
	"testing"
)

// Whatever the bytes are: no panic, no error but a FormatError, and what is accepted can be read, written and read
// again to the same values.
func FuzzNewFile(f *testing.F) {
	for _, c := range malformed {
		f.Add([]byte(c.file))
	}
	f.Add([]byte(small(2)))
	f.Add([]byte(small(3)))
	f.Add(splitPart(0, 1, 1, nil))
	w := NewWriter()
	for _, kv := range everyValue {
		w.Set(kv.Key, kv.Value)
	}
	var b bytes.Buffer
	if _, err := w.WriteTo(&b); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, in []byte) {
		file, err := NewFile(bytes.NewReader(in), int64(len(in)))
		if err != nil {
			var fe *FormatError
			if !errors.As(err, &fe) || fe.What == "" || fe.Offset < 0 || fe.Offset > int64(len(in)) {
				t.Fatalf("error %#v of %d bytes", err, len(in))
			}
			return
		}
		if file.Alignment > 1<<16 {
			return // legal, and too much padding to write
		}
		w := NewWriter()
		for _, kv := range file.Keys {
			w.Set(kv.Key, kv.Value)
		}
		for i := range file.Tensors {
			x := &file.Tensors[i]
			data, err := file.Data(x)
			if err != nil || uint64(len(data)) != x.Size {
				t.Fatalf("%s: %d bytes, %v, want %d", x.Name, len(data), err, x.Size)
			}
			w.Add(x.Name, x.Type, x.Dims, data)
		}
		var first, second bytes.Buffer
		if _, err := w.WriteTo(&first); err != nil {
			t.Fatal(err)
		}
		again, err := NewFile(bytes.NewReader(first.Bytes()), int64(first.Len()))
		if err != nil {
			t.Fatal(err)
		}
		w = NewWriter()
		for _, kv := range again.Keys {
			w.Set(kv.Key, kv.Value)
		}
		for i := range again.Tensors {
			x := &again.Tensors[i]
			data, err := again.Data(x)
			if err != nil {
				t.Fatal(err)
			}
			w.Add(x.Name, x.Type, x.Dims, data)
		}
		// Bytes, not values: NaN is not equal to itself.
		if _, err := w.WriteTo(&second); err != nil || !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Fatalf("two copies differ: %v", err)
		}
	})
}
