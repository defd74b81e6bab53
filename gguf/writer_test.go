package gguf

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRoundTrip(t *testing.T) {
	for _, align := range []uint32{0, 1, 8, 32, 64, 8192} {
		w := NewWriter()
		for _, kv := range everyValue {
			w.Set(kv.Key, kv.Value)
		}
		wantAlign := uint64(32)
		if align > 0 {
			w.Set("general.alignment", align)
			wantAlign = uint64(align)
		}
		want := map[string][]byte{}
		for typ := Type(0); typ <= 42; typ++ {
			if !typ.Known() {
				continue
			}
			data := bytes.Repeat([]byte{byte(typ) + 1}, 6*typ.BlockBytes())
			want[typ.String()] = data
			w.Add(typ.String(), typ, []uint64{uint64(2 * typ.Block()), 3}, data)
		}
		var b, again bytes.Buffer
		n, err := w.WriteTo(&b)
		if err != nil || n != int64(b.Len()) {
			t.Fatalf("wrote %d of %d bytes: %v", n, b.Len(), err)
		}
		if _, err := w.WriteTo(&again); err != nil || !bytes.Equal(b.Bytes(), again.Bytes()) {
			t.Errorf("a second WriteTo wrote something else: %v", err)
		}
		f, err := NewFile(bytes.NewReader(b.Bytes()), n)
		if err != nil {
			t.Fatal(err)
		}
		if f.Version != 3 || f.Alignment != wantAlign || len(f.Tensors) != len(want) {
			t.Errorf("version %d, alignment %d, %d tensors, want 3, %d, %d", f.Version, f.Alignment, len(f.Tensors),
				wantAlign, len(want))
		}
		if d := cmp.Diff(everyValue, f.Keys[:len(everyValue)]); d != "" {
			t.Errorf("keys (-want +got):\n%s", d)
		}
		for i := range f.Tensors {
			x := &f.Tensors[i]
			got, err := f.Data(x)
			if err != nil || !bytes.Equal(got, want[x.Name]) || x.Type.String() != x.Name || x.Rows() != 3 {
				t.Errorf("%s: type %s, %d rows, %d bytes, %v", x.Name, x.Type, x.Rows(), len(got), err)
			}
		}
	}
}

// The bytes of a file, spelled out.
func TestWriterLayout(t *testing.T) {
	w := NewWriter()
	w.Set("a", uint16(258))
	w.Add("t", I8, []uint64{3}, []byte{9, 8, 7})
	var b bytes.Buffer
	if _, err := w.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	want := header(3, 1, 1).kv("a", 2).bytes(2, 1).info("t", 24, 0, 3).pad(32).bytes(9, 8, 7).pad(32)
	if !bytes.Equal(b.Bytes(), want) {
		t.Errorf("got\n% x\nwant\n% x", b.Bytes(), []byte(want))
	}
}

// Data that is made while the file is written gives the bytes of data that is held. It is asked for one after the
// other, each time the file is written.
func TestWriterAddFunc(t *testing.T) {
	held, streamed := NewWriter(), NewWriter()
	var asked []string
	for _, name := range []string{"a", "b", "c"} {
		data := []byte(name + "xyz")
		held.Add(name, I8, []uint64{4}, data)
		streamed.AddFunc(name, I8, []uint64{4},
			func() ([]byte, error) { asked = append(asked, name); return data, nil })
	}
	var want, got bytes.Buffer
	if _, err := held.WriteTo(&want); err != nil {
		t.Fatal(err)
	}
	if len(asked) != 0 {
		t.Errorf("asked for %q before WriteTo", asked)
	}
	for range 2 {
		asked = nil
		got.Reset()
		if _, err := streamed.WriteTo(&got); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Bytes(), want.Bytes()) || strings.Join(asked, "") != "abc" {
			t.Errorf("asked for %q, got\n% x\nwant\n% x", asked, got.Bytes(), want.Bytes())
		}
	}
}

func TestWriterAddFuncErrors(t *testing.T) {
	lost := errors.New("lost")
	for _, c := range []struct {
		name string
		data func() ([]byte, error)
		want string
	}{
		{"error", func() ([]byte, error) { return nil, lost }, `tensor "bad": lost`},
		{"short", func() ([]byte, error) { return make([]byte, 3), nil },
			`tensor "bad": 3 bytes of data, but I8 [4] takes 4`},
		{"long", func() ([]byte, error) { return make([]byte, 5), nil },
			`tensor "bad": 5 bytes of data, but I8 [4] takes 4`},
	} {
		w := NewWriter()
		w.AddFunc("bad", I8, []uint64{4}, c.data)
		w.AddFunc("after", I8, []uint64{4},
			func() ([]byte, error) { t.Errorf("%s: asked for more", c.name); return nil, nil })
		if _, err := w.WriteTo(io.Discard); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
	// Where the destination fails, no more is asked for.
	w := NewWriter()
	w.Add("large", I8, []uint64{1 << 20}, make([]byte, 1<<20))
	w.AddFunc("after", I8, []uint64{4},
		func() ([]byte, error) { t.Error("asked for more"); return make([]byte, 4), nil })
	if _, err := w.WriteTo(brokenWriter{lost}); !errors.Is(err, lost) {
		t.Errorf("error %v, want %v", err, lost)
	}
}

type brokenWriter struct{ err error }

func (w brokenWriter) Write([]byte) (int, error) { return 0, w.err }

func TestWriterErrors(t *testing.T) {
	loop := []any{nil}
	loop[0] = loop
	for _, c := range []struct {
		name string
		do   func(w *Writer)
		want string
	}{
		{"int", func(w *Writer) { w.Set("k", 1) }, `key "k": cannot write a int`},
		{"nil", func(w *Writer) { w.Set("k", nil) }, "cannot write a <nil>"},
		{"map", func(w *Writer) { w.Set("k", map[string]int{}) }, "cannot write a map"},
		{"ints", func(w *Writer) { w.Set("k", []int{1}) }, "cannot write a []int"},
		{"scalar in []any", func(w *Writer) { w.Set("k", []any{uint8(1)}) }, "cannot write a []interface"},
		{"loop", func(w *Writer) { w.Set("k", loop) }, "cannot write"},
		{"five deep", func(w *Writer) { w.Set("k", []any{[]any{[]any{[]any{[]uint8{}}}}}) }, "cannot write"},
		{"key empty", func(w *Writer) { w.Set("", true) }, "1 to 65535 bytes"},
		{"key long", func(w *Writer) { w.Set(strings.Repeat("k", 1<<16), true) }, "65536"},
		{"key twice", func(w *Writer) { w.Set("k", true); w.Set("k", true) }, `key "k" is set twice`},
		{"alignment type", func(w *Writer) { w.Set("general.alignment", int32(32)) }, "is int32 32"},
		{"alignment value", func(w *Writer) { w.Set("general.alignment", uint32(12)) }, "is uint32 12"},
		{"tensor name", func(w *Writer) { w.Add("", F32, []uint64{1}, make([]byte, 4)) }, "1 to 65535 bytes"},
		{"tensor twice", func(w *Writer) {
			w.Add("t", F32, []uint64{1}, make([]byte, 4))
			w.Add("t", F32, []uint64{1}, make([]byte, 4))
		}, `tensor "t" is added twice`},
		{"tensor short", func(w *Writer) { w.Add("t", F32, []uint64{2}, make([]byte, 7)) },
			"7 bytes of data, but F32 [2] takes 8"},
		{"tensor long", func(w *Writer) { w.Add("t", Q4_0, []uint64{32, 2}, make([]byte, 37)) }, "takes 36"},
		{"tensor block", func(w *Writer) { w.Add("t", Q4_0, []uint64{16}, nil) }, "blocks of 32"},
		{"tensor type", func(w *Writer) { w.Add("t", 99, []uint64{16}, nil) }, "unknown tensor type 99"},
		{"tensor removed", func(w *Writer) { w.Add("t", 4, []uint64{16}, nil) }, "Q4_2"},
		{"tensor dims", func(w *Writer) { w.Add("t", F32, nil, nil) }, "0 dimensions"},
		{"tensor 5 dims", func(w *Writer) { w.Add("t", F32, []uint64{1, 1, 1, 1, 1}, nil) }, "5 dimensions"},
		{"tensor zero", func(w *Writer) { w.Add("t", F32, []uint64{0}, nil) }, "zero"},
		{"tensor overflow", func(w *Writer) { w.Add("t", F32, []uint64{1 << 40, 1 << 40}, nil) }, "overflow"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := NewWriter()
			c.do(w)
			w.Set("fine", true)
			var b bytes.Buffer
			n, err := w.WriteTo(&b)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
			if n != 0 || b.Len() != 0 {
				t.Errorf("wrote %d bytes all the same", b.Len())
			}
		})
	}
}

func TestWriterReportsEveryMistake(t *testing.T) {
	var w Writer // the zero value works as well
	w.Set("first", 1)
	w.Add("second", 99, nil, nil)
	_, err := w.WriteTo(io.Discard)
	if err == nil || !strings.Contains(err.Error(), "first") || !strings.Contains(err.Error(), "second") {
		t.Errorf("error %v, want both mistakes", err)
	}
}

func TestWriterPassesOnErrors(t *testing.T) {
	full := errors.New("disk full")
	for _, room := range []int{0, 10, 70_000} {
		w := NewWriter()
		w.Set("general.alignment", uint32(1<<20))
		w.Add("t", I8, []uint64{1 << 17}, make([]byte, 1<<17))
		n, err := w.WriteTo(&limited{room, full})
		if !errors.Is(err, full) || n != int64(room) {
			t.Errorf("room for %d: wrote %d, error %v", room, n, err)
		}
	}
}

type limited struct {
	room int
	err  error
}

func (l *limited) Write(b []byte) (int, error) {
	if len(b) > l.room {
		n := l.room
		l.room = 0
		return n, l.err
	}
	l.room -= len(b)
	return len(b), nil
}
