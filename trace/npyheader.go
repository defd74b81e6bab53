package trace

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"regexp"
	"strconv"
	"strings"
)

// maxHeader limits the text of an .npy header; numpy's own have 64 to 128 bytes for arrays such as these.
const maxHeader = 1 << 14

// npyHeader is what the start of an .npy array says about it.
type npyHeader struct {
	descr    string // element type, as "<f4"
	fortran  bool   // column-major
	shape    []int  // every dimension at least 1
	elements uint64 // product of shape
	size     uint64 // bytes that the header itself took
}

// entry is one "key: value" of the header, a Python dict of three of them in any order.
var entry = regexp.MustCompile(`^\s*'(descr|fortran_order|shape)'\s*:\s*('[^']*'|True|False|\([0-9, ]*\))\s*(?:,|$)`)

// itemSize is the size in bytes of an element of the types that a trace holds.
var itemSize = map[string]uint64{"<f4": 4, "<i4": 4, "<i8": 8, "|u1": 1}

// readHeader reads the header of an array and nothing after it. It allocates at most maxHeader bytes.
func readHeader(r io.Reader) (*npyHeader, error) {
	var start [12]byte
	if _, err := io.ReadFull(r, start[:8]); err != nil {
		return nil, fmt.Errorf("its .npy header is cut off: %w", err)
	}
	if string(start[:6]) != "\x93NUMPY" {
		return nil, fmt.Errorf("it begins with %q, expected the .npy header \"\\x93NUMPY\"", start[:6])
	}
	n := 2 // bytes of the header's length
	switch start[6] {
	case 1:
	case 2, 3:
		n = 4
	default:
		return nil, fmt.Errorf("its .npy version is %d, expected 1 to 3", start[6])
	}
	if _, err := io.ReadFull(r, start[8:8+n]); err != nil {
		return nil, fmt.Errorf("its .npy header is cut off: %w", err)
	}
	length := binary.LittleEndian.Uint32(start[8:])
	if length > maxHeader {
		return nil, fmt.Errorf("its .npy header has %d bytes, expected at most %d", length, maxHeader)
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(r, text); err != nil {
		return nil, fmt.Errorf("its .npy header is cut off: %w", err)
	}
	h, err := parseHeader(string(text))
	if err != nil {
		return nil, fmt.Errorf(".npy header %.120q: %w", text, err)
	}
	h.size = uint64(8 + n + len(text))
	return h, nil
}

// parseHeader parses the dict. Every key must be there once and nothing else beside them, so that there is one way to
// understand it.
func parseHeader(text string) (*npyHeader, error) {
	text = strings.TrimSpace(text)
	body, open := strings.CutPrefix(text, "{")
	body, closed := strings.CutSuffix(body, "}")
	if !open || !closed {
		return nil, errors.New("it is not a dict")
	}
	values := map[string]string{}
	for strings.TrimSpace(body) != "" {
		m := entry.FindStringSubmatch(body)
		if m == nil {
			return nil, errors.New("expected 'descr', 'fortran_order' and 'shape', as numpy writes them")
		}
		if _, twice := values[m[1]]; twice {
			return nil, fmt.Errorf("'%s' stands there twice", m[1])
		}
		values[m[1]] = m[2]
		body = body[len(m[0]):]
	}
	h := &npyHeader{elements: 1}
	descr, ok := strings.CutPrefix(values["descr"], "'")
	if !ok {
		return nil, errors.New("'descr' is no type name")
	}
	h.descr = strings.TrimSuffix(descr, "'")
	switch values["fortran_order"] {
	case "True":
		h.fortran = true
	case "False":
	default:
		return nil, errors.New("'fortran_order' is neither True nor False")
	}
	shape, ok := strings.CutPrefix(values["shape"], "(")
	if !ok {
		return nil, errors.New("'shape' is no tuple of numbers")
	}
	for field := range strings.SplitSeq(strings.TrimSuffix(shape, ")"), ",") {
		if field = strings.TrimSpace(field); field == "" {
			continue // after the comma of (12,)
		}
		d, err := strconv.ParseUint(field, 10, 31)
		if err != nil {
			return nil, fmt.Errorf("dimension %q: expected a number below 2^31", field)
		}
		if d == 0 {
			return nil, errors.New("a dimension is 0, so that it has no elements")
		}
		hi, lo := bits.Mul64(h.elements, d)
		if hi != 0 {
			return nil, errors.New("its shape has too many elements")
		}
		h.elements = lo
		h.shape = append(h.shape, int(d))
	}
	return h, nil
}

// encode returns the header as numpy writes it, padded so that the elements begin at a multiple of 64 bytes. The numpy
// package reads arrays behind it and not behind the file's own text, in which it might find another meaning than
// parseHeader did.
func (h *npyHeader) encode() []byte {
	order := "False"
	if h.fortran {
		order = "True"
	}
	dims := make([]string, len(h.shape))
	for i, d := range h.shape {
		dims[i] = strconv.Itoa(d)
	}
	tuple := strings.Join(dims, ", ")
	if len(dims) == 1 {
		tuple += ","
	}
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': (%s), }", h.descr, order, tuple)
	text += strings.Repeat(" ", 63-(10+len(text))%64) + "\n"
	return append(binary.LittleEndian.AppendUint16([]byte("\x93NUMPY\x01\x00"), uint16(len(text))), text...)
}
