package hostile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"cera/gguf"
	"cera/tinymodel"
)

// edited is a good model, to be made a bad one.
type edited struct {
	keys    []gguf.KV
	tensors []*tensor
}

type tensor struct {
	name string
	typ  gguf.Type
	dims []uint64
	data []byte
}

// load reads the model of o.
func load(o tinymodel.Options) (*edited, error) {
	var buf bytes.Buffer
	if _, err := tinymodel.Write(&buf, o); err != nil {
		return nil, err
	}
	f, err := gguf.NewFile(bytes.NewReader(buf.Bytes()), int64(buf.Len()))
	if err != nil {
		return nil, err
	}
	m := &edited{keys: f.Keys}
	for i := range f.Tensors {
		t := &f.Tensors[i]
		data, err := f.Data(t)
		if err != nil {
			return nil, err
		}
		m.tensors = append(m.tensors, &tensor{t.Name, t.Type, t.Dims, data})
	}
	return m, nil
}

// set gives a key another value, or adds it; nil removes it.
func (m *edited) set(key string, value any) {
	m.keys = slices.DeleteFunc(m.keys, func(kv gguf.KV) bool { return kv.Key == key })
	if value != nil {
		m.keys = append(m.keys, gguf.KV{Key: key, Value: value})
	}
}

// tensor returns a tensor that the model has.
func (m *edited) tensor(name string) *tensor {
	for _, t := range m.tensors {
		if t.name == name {
			return t
		}
	}
	panic("no tensor " + name) // of a name in this package
}

// remove removes a tensor.
func (m *edited) remove(name string) {
	m.tensors = slices.DeleteFunc(m.tensors, func(t *tensor) bool { return t.name == name })
}

// add adds a tensor of zeros.
func (m *edited) add(name string, typ gguf.Type, dims ...uint64) *tensor {
	row, err := typ.RowBytes(dims[0])
	if err != nil {
		panic(err) // of a shape in this package
	}
	for _, d := range dims[1:] {
		row *= d
	}
	t := &tensor{name, typ, dims, make([]byte, row)}
	m.tensors = append(m.tensors, t)
	return t
}

// floats makes t one of F32 with these elements.
func (t *tensor) floats(v ...float32) {
	t.typ, t.dims, t.data = gguf.F32, []uint64{uint64(len(v))}, nil
	for _, x := range v {
		t.data = binary.LittleEndian.AppendUint32(t.data, math.Float32bits(x))
	}
}

// writeEdited makes a file in dir of the model of an architecture, which is good but for what edit does.
func writeEdited(dir, arch string, edit func(m *edited)) (path string, err error) {
	m, err := load(tinymodel.For(arch))
	if err != nil {
		return "", err
	}
	edit(m)
	w := gguf.NewWriter()
	for _, kv := range m.keys {
		w.Set(kv.Key, kv.Value)
	}
	for _, t := range m.tensors {
		w.Add(t.name, t.typ, t.dims, t.data)
	}
	var buf bytes.Buffer
	if _, err := w.WriteTo(&buf); err != nil {
		return "", err
	}
	return write(dir, fileName, buf.Bytes())
}

// WithKey makes a file in dir of a good model of an architecture with another value of a key, or one more key. Whether
// it is hostile then is the caller's to know.
func WithKey(dir, arch, key string, value any) (path string, err error) {
	return writeEdited(dir, arch, func(m *edited) { m.set(key, value) })
}

// change is a row of a model of an architecture, in a good file but for what edit does.
func change(stage Stage, name, arch string, edit func(m *edited), want ...string) Row {
	return Row{name, stage, want, func(dir string) (string, error) { return writeEdited(dir, arch, edit) }}
}

// key is change for one key of the architecture, or a whole key where it has a dot before its name.
func key(arch, name string, value any, want ...string) Row {
	full := arch + "." + name
	return change(Model, fmt.Sprintf("%s of %.40s", full, describe(value)), arch,
		func(m *edited) { m.set(full, value) }, append(want, full)...)
}

// describe is a value as the name of a row has it.
func describe(v any) string {
	if v == nil {
		return "nothing"
	}
	return fmt.Sprintf("%T %v", v, v)
}
