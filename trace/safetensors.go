package trace

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"slices"

	"github.com/nlpodyssey/safetensors"
	"github.com/x448/float16"
)

// maxTensorsHeader limits the JSON at the head of a .safetensors file: parsed it takes many times its size.
const maxTensorsHeader = 8 << 20

// readSafetensors reads a .safetensors file: sites of F32, F16 or BF16, "tokens" of I32 or I64, in the file's order.
// The header is checked against the file's size before anything is read by it.
func readSafetensors(path string) (*Trace, error) { return fromFile(path, parseSafetensors) }

func parseSafetensors(r io.ReaderAt, size int64) (*Trace, error) {
	var head [8]byte
	if _, err := r.ReadAt(head[:], 0); size < 8 || err != nil && err != io.EOF {
		return nil, fmt.Errorf("not a .safetensors file: it has %d bytes, the header's length takes 8", size)
	}
	length := binary.LittleEndian.Uint64(head[:])
	if length > maxTensorsHeader || length > uint64(size-8) {
		return nil, fmt.Errorf("not a .safetensors file: its header claims %d bytes, expected at most %d of "+
			"a file of %d",
			length, maxTensorsHeader, size)
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(io.NewSectionReader(r, 8, int64(length)), text); err != nil {
		return nil, err
	}
	list, err := tensorInfos(text)
	if err != nil {
		return nil, fmt.Errorf("its .safetensors header: %w", err)
	}
	if len(list) == 0 {
		return nil, errors.New("it is empty, expected tensors")
	}
	t, start := New(), int64(8+length)
	end := uint64(0) // of the tensor before; the format has neither gaps nor overlaps
	for _, info := range list {
		from, to := info.DataOffsets[0], info.DataOffsets[1]
		if from != end || to < from || to > uint64(size-start) {
			return nil, fmt.Errorf("tensor %q: its data is at %d to %d, expected it to begin at %d and to end by %d",
				info.name, from, to, end, size-start)
		}
		end = to
		data := io.NewSectionReader(r, start+int64(from), int64(to-from))
		if err := t.readTensor(info, data, to-from); err != nil {
			return nil, fmt.Errorf("tensor %q: %w", info.name, err)
		}
	}
	if end != uint64(size-start) {
		return nil, fmt.Errorf("its tensors take %d bytes, but it has %d for them", end, size-start)
	}
	return t, nil
}

type tensorInfo struct {
	name string
	safetensors.TensorInfo
}

// tensorInfos parses the header; the tensors come in the order of their data.
func tensorInfos(text []byte) (list []tensorInfo, err error) {
	// A parser of another's making must not end the program on bytes from anywhere.
	defer func() {
		if p := recover(); p != nil {
			list, err = nil, fmt.Errorf("malformed: %v", p)
		}
	}()
	var m safetensors.Metadata
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, err
	}
	for name, info := range m.Tensors() {
		list = append(list, tensorInfo{name, *info})
	}
	slices.SortFunc(list, func(a, b tensorInfo) int {
		return cmp.Or(cmp.Compare(a.DataOffsets[0], b.DataOffsets[0]), cmp.Compare(a.DataOffsets[1], b.DataOffsets[1]),
			cmp.Compare(a.name, b.name))
	})
	return list, nil
}

// readTensor adds one tensor, whose elements take size bytes of r.
func (t *Trace) readTensor(info tensorInfo, r io.Reader, size uint64) error {
	allowed, words := []safetensors.DType{safetensors.F32, safetensors.F16, safetensors.BF16}, "F32, F16 or BF16"
	switch info.name {
	case tokensName:
		allowed, words = []safetensors.DType{safetensors.I32, safetensors.I64}, "I32 or I64"
	case manifestName, "":
		return errors.New("the name is not free for a site")
	}
	if !slices.Contains(allowed, info.DType) {
		return fmt.Errorf("its elements are %s, expected %s", info.DType, words)
	}
	shape, elements := []int{}, uint64(1)
	for _, d := range info.Shape {
		hi, lo := bits.Mul64(elements, d)
		if d == 0 || d > math.MaxInt32 || hi != 0 {
			return fmt.Errorf("its shape is %v, expected dimensions from 1 to 2^31-1", info.Shape)
		}
		shape, elements = append(shape, int(d)), lo
	}
	if item := info.DType.Size(); len(shape) == 0 || elements > size/item || elements*item != size {
		return fmt.Errorf("its shape %v of %s takes %d elements, but it has %d bytes for them", info.Shape, info.DType,
			elements, size)
	}
	b := make([]byte, size)
	if _, err := io.ReadFull(r, b); err != nil {
		return err
	}
	if info.name != tokensName {
		t.add(info.name, shape, decode(b, info.DType))
		return nil
	}
	wide := make([]int64, elements)
	for i := range wide {
		if info.DType == safetensors.I32 {
			wide[i] = int64(int32(binary.LittleEndian.Uint32(b[4*i:])))
		} else {
			wide[i] = int64(binary.LittleEndian.Uint64(b[8*i:]))
		}
	}
	var err error
	t.Tokens, err = narrow(wide)
	return err
}

// decode returns the values of little-endian bytes.
func decode(b []byte, dtype safetensors.DType) []float32 {
	data := make([]float32, uint64(len(b))/dtype.Size())
	for i := range data {
		switch dtype {
		case safetensors.F16:
			data[i] = float16.Frombits(binary.LittleEndian.Uint16(b[2*i:])).Float32()
		case safetensors.BF16:
			data[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(b[2*i:])) << 16)
		default:
			data[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
		}
	}
	return data
}
