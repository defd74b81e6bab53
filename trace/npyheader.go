package trace

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"regexp"
	"strconv"
	"strings"
)

var shapePattern = regexp.MustCompile(`'shape'\s*:\s*\(([0-9, ]*)\)`)

// headerElements returns the number of elements that the header of an .npy array claims, so that it can be compared
// with the bytes there are before anything is allocated.
func headerElements(raw []byte) (uint64, error) {
	if len(raw) < 10 || string(raw[:6]) != "\x93NUMPY" {
		return 0, errors.New("it has no .npy header")
	}
	start, length := 10, uint64(binary.LittleEndian.Uint16(raw[8:]))
	if raw[6] > 1 {
		if len(raw) < 12 {
			return 0, errors.New("its header is cut off")
		}
		start, length = 12, uint64(binary.LittleEndian.Uint32(raw[8:]))
	}
	if length > uint64(len(raw)-start) {
		return 0, errors.New("its header is cut off")
	}
	m := shapePattern.FindSubmatch(raw[start : uint64(start)+length])
	if m == nil {
		return 0, errors.New("its header names no shape")
	}
	elements := uint64(1)
	for _, field := range strings.Split(string(m[1]), ",") {
		if field = strings.TrimSpace(field); field == "" {
			continue
		}
		d, err := strconv.ParseUint(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("its header's shape: %w", err)
		}
		hi, lo := bits.Mul64(elements, d)
		if hi != 0 {
			return 0, fmt.Errorf("its shape (%s) has too many elements", m[1])
		}
		elements = lo
	}
	return elements, nil
}
