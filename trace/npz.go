package trace

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/gomlx/gomlx/types/tensors"
	"github.com/gomlx/gomlx/types/tensors/numpy"
)

const (
	tokensName   = "tokens"
	manifestName = "manifest"
	extension    = ".npy"

	// What the arrays of a file may take when unpacked: inflation times the file, or smallTrace bytes where that is
	// more. Captured numbers hardly compress, a site of zeros shrinks by a thousand: the one passes at any size, the
	// other in a small trace or beside others.
	inflation  = 64
	smallTrace = 64 << 20
)

// Read reads an .npz file as numpy and Write make it, compressed or not: "tokens" as int32 or int64 [n], "manifest" as
// uint8 [bytes] of a Manifest's JSON, every other array as float32 [rows, n], or [n], which is one row; further
// dimensions, as [rows, heads, n], make longer rows. Arrays in column-major order are turned round; other types,
// big-endian ones and float64 too, are refused. Sites keep the file's order.
//
// Errors name the file and the array; an array that the manifest lists and the file lacks is one. Arrays that take more
// than 64 times the file's size, and more than 64 MiB, are refused before they are unpacked.
func Read(path string) (*Trace, error) {
	return fromFile(path, func(r io.ReaderAt, size int64) (*Trace, error) {
		return read(r, size, max(smallTrace, inflation*uint64(size)))
	})
}

// fromFile opens a file for parse; errors name it.
func fromFile(path string, parse func(r io.ReaderAt, size int64) (*Trace, error)) (*Trace, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	t, err := parse(f, info.Size())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// read reads an archive of size bytes whose arrays take at most limit bytes.
func read(r io.ReaderAt, size int64, limit uint64) (*Trace, error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, fmt.Errorf("not an .npz file: %w", err)
	}
	if len(z.File) == 0 {
		return nil, errors.New("it is empty, expected arrays")
	}
	t := New()
	// Members may share bytes in a hostile file: their sizes are limited together and not one by one.
	left := limit
	for _, f := range z.File {
		name, ok := strings.CutSuffix(f.Name, extension)
		if !ok || name == "" {
			return nil, fmt.Errorf("member %q is not an array: its name does not end in %s", f.Name, extension)
		}
		if f.UncompressedSize64 > left {
			return nil, fmt.Errorf("array %q: %d bytes unpacked, which takes the arrays of a file of %d bytes over "+
				"the limit of %d",
				name, f.UncompressedSize64, size, limit)
		}
		left -= f.UncompressedSize64
		if err := t.readMember(f, name); err != nil {
			return nil, fmt.Errorf("array %q: %w", name, err)
		}
	}
	return t, t.complete()
}

// complete is an error where the manifest lists a site that is not there: part of the file was lost.
func (t *Trace) complete() error {
	if t.Manifest == nil {
		return nil
	}
	for _, name := range t.Manifest.Sites {
		if t.sites[name] == nil {
			return fmt.Errorf("array %q is missing: the manifest lists it", name)
		}
	}
	return nil
}

// readMember adds one array.
func (t *Trace) readMember(f *zip.File, name string) error {
	rc, err := f.Open()
	if err != nil {
		return err
	}
	defer rc.Close()
	return t.readArray(name, rc, f.UncompressedSize64)
}

// elementTypes says which types the arrays of a name may have.
func elementTypes(name string) (allowed []string, words string) {
	switch name {
	case tokensName:
		return []string{"<i4", "<i8"}, "<i4 or <i8 (int32, int64), little-endian"
	case manifestName:
		return []string{"|u1"}, "|u1 (uint8)"
	}
	return []string{"<f4"}, "<f4 (float32), little-endian"
}

// readArray adds one array, whose header and elements take size bytes of r.
func (t *Trace) readArray(name string, r io.Reader, size uint64) error {
	if t.sites[name] != nil || name == tokensName && t.Tokens != nil || name == manifestName && t.Manifest != nil {
		return errors.New("it is there twice")
	}
	h, err := readHeader(r)
	if err != nil {
		return err
	}
	allowed, want := elementTypes(name)
	item := itemSize[h.descr]
	if !slices.Contains(allowed, h.descr) {
		return fmt.Errorf("its elements are %s, expected %s", h.descr, want)
	} else if h.elements > size/item || h.elements*item+h.size != size {
		return fmt.Errorf("its shape %v of %s takes %d elements, but it has %d bytes for them", h.shape, h.descr,
			h.elements, int64(size-h.size))
	}
	switch {
	case name == manifestName:
		t.Manifest, err = readManifest(h, r)
		return err
	case name == tokensName && len(h.shape) == 1:
		t.Tokens, err = readTokens(h, r)
		return err
	case name != tokensName && len(h.shape) > 0:
		data, err := readElements[float32](h, r)
		if err != nil {
			return err
		}
		t.add(name, h.shape, data)
		return nil
	case name == tokensName:
		return fmt.Errorf("its shape is %v, expected [tokens]", h.shape)
	}
	return fmt.Errorf("its shape is %v, expected [rows, n]", h.shape)
}

// add adds a new site of a shape with at least one dimension.
func (t *Trace) add(name string, shape []int, data []float32) {
	rows, s := 1, &site{data: data}
	if len(shape) > 1 {
		rows = shape[0]
	}
	if len(shape) > 2 {
		s.dims = shape
	}
	s.n = len(data) / rows
	t.sites[name] = s
	t.order = append(t.order, name)
}

func readTokens(h *npyHeader, r io.Reader) ([]int32, error) {
	if h.descr == "<i4" {
		return readElements[int32](h, r)
	}
	wide, err := readElements[int64](h, r)
	if err != nil {
		return nil, err
	}
	return narrow(wide)
}

// narrow returns token ids that fit 32 bits.
func narrow(wide []int64) ([]int32, error) {
	ids := make([]int32, len(wide))
	for i, id := range wide {
		ids[i] = int32(id)
		if int64(ids[i]) != id {
			return nil, fmt.Errorf("token %d at position %d does not fit 32 bits", id, i)
		}
	}
	return ids, nil
}

// readElements reads the elements after a header, row-major, to the end of the member.
func readElements[T float32 | int32 | int64 | uint8](h *npyHeader, r io.Reader) (data []T, err error) {
	// The numpy package answers some malformed arrays with a panic.
	defer func() {
		if p := recover(); p != nil {
			data, err = nil, fmt.Errorf("malformed array: %v", p)
		}
	}()
	a, err := numpy.FromNpyReader(io.MultiReader(bytes.NewReader(h.encode()), r))
	if err != nil {
		return nil, err
	}
	defer a.FinalizeAll()
	// The archive compares its checksum where a member ends.
	if n, err := io.Copy(io.Discard, r); err != nil {
		return nil, err
	} else if n > 0 {
		return nil, fmt.Errorf("%d bytes follow the array", n)
	}
	return tensors.CopyFlatData[T](a), nil
}
