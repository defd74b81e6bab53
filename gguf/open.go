package gguf

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

const (
	keySplitNo      = "split.no"
	keySplitCount   = "split.count"
	keySplitTensors = "split.tensors.count"
)

// Open maps the model at path into memory and reads its metadata. If the file is the first of a split set
// ("name-00001-of-00003.gguf") all its parts are opened and must agree with each other. The error is a *FormatError if
// the content of a file is at fault. What becomes of a file that shrinks while it is open: see [File.View].
func Open(path string) (*File, error) {
	first, err := openPart(path)
	if err != nil {
		return nil, err
	}
	parts := []*part{first}
	f, err := func() (*File, error) {
		s, err := first.split()
		if err != nil {
			return nil, err
		}
		if s.count > 1 {
			if err := openSplit(&parts, s); err != nil {
				return nil, err
			}
		}
		return assemble(path, parts)
	}()
	if err != nil {
		return nil, errors.Join(err, closeParts(parts))
	}
	return f, nil
}

// openPart opens and parses one file.
func openPart(path string) (*part, error) {
	// A pipe would keep Open waiting for a writer, so what is no file is refused before it is opened.
	info, err := os.Stat(path)
	if err == nil {
		err = regular(path, info)
	}
	if err != nil {
		return nil, fmt.Errorf("gguf: %w", err)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("gguf: %w", err)
	}
	if info, err = file.Stat(); err == nil {
		err = regular(path, info) // of what was opened: the name may mean another file by now
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("gguf: %w", err)
	}
	p := &part{path: path, size: info.Size()}
	if p.size == 0 { // an empty file cannot be mapped
		file.Close()
		return nil, p.parse()
	}
	if err := p.attach(file); err != nil {
		return nil, fmt.Errorf("gguf: %s: %w", path, err)
	}
	if err := p.guard("metadata", p.parse); err != nil {
		return nil, errors.Join(err, closeParts([]*part{p}))
	}
	return p, nil
}

// regular says what path is if it is not a file with content.
func regular(path string, info fs.FileInfo) error {
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		return fmt.Errorf("%s: a folder, not a regular file", path)
	case mode&fs.ModeNamedPipe != 0:
		return fmt.Errorf("%s: a pipe, not a regular file: a model is read more than once and not in order", path)
	}
	return fmt.Errorf("%s: not a regular file", path)
}

// split is what a part says about the set it belongs to.
type split struct{ no, count, tensors uint64 }

// split reads the split keys. A count of 0 or 1 means that the file is a whole model; then the other keys need not be
// there.
func (p *part) split() (split, error) {
	var s split
	if _, ok := p.index[keySplitCount]; !ok {
		return split{count: 1}, nil
	}
	for _, k := range []struct {
		key string
		to  *uint64
	}{{keySplitCount, &s.count}, {keySplitNo, &s.no}, {keySplitTensors, &s.tensors}} {
		i, ok := p.index[k.key]
		if !ok {
			if s.count > 1 {
				return s, p.errorf(p.keyOffset(keySplitCount), "key %q is missing, but %q is %d", k.key, keySplitCount,
					s.count)
			}
			continue
		}
		if *k.to, ok = toUint(p.keys[i].Value); !ok {
			return s, p.errorf(p.keyOff[i], "key %q is %s, want a non-negative integer", k.key, p.keys[i].describe())
		}
	}
	if n := uint64(len(p.tensors)); s.count == 1 && s.tensors != n && p.keyOffset(keySplitTensors) > 0 {
		return s, p.errorf(p.keyOffset(keySplitTensors), "key %q is %d, but the only part holds %d tensors",
			keySplitTensors, s.tensors, n)
	}
	return s, nil
}

// A name of a part: everything before the number, the number from 1, and the number of parts.
var partName = regexp.MustCompile(`^(.*-)(\d{5})-of-(\d{5})\.gguf$`)

// openSplit opens the parts that follow the first and holds each against what the first says.
func openSplit(parts *[]*part, want split) error {
	first := (*parts)[0]
	dir, name := filepath.Split(first.path)
	m := partName.FindStringSubmatch(name)
	at := first.keyOffset(keySplitCount)
	if m == nil {
		return first.errorf(at, "key %q is %d, so the file's name must end in \"-00001-of-%05d.gguf\" for the other "+
			"parts to be found",
			keySplitCount, want.count, want.count)
	}
	nth := func(i uint64) string { return dir + fmt.Sprintf("%s%05d-of-%s.gguf", m[1], i+1, m[3]) }
	no, _ := strconv.ParseUint(m[2], 10, 64)
	count, _ := strconv.ParseUint(m[3], 10, 64)
	switch {
	case count != want.count:
		return first.errorf(at, "key %q is %d, but the file's name says %d parts", keySplitCount, want.count, count)
	case no != want.no+1:
		return first.errorf(first.keyOffset(keySplitNo),
			"key %q is %d, but the file's name says part %d, whose number is %d",
			keySplitNo, want.no, no, int64(no)-1)
	case want.no != 0:
		return first.errorf(first.keyOffset(keySplitNo), "this is part %d of %d: open the first part, %s", no, count,
			nth(0))
	}
	if err := allThere(first, nth, count); err != nil {
		return err
	}
	total := uint64(len(first.tensors))
	for i := uint64(1); i < count; i++ {
		p, err := openPart(nth(i))
		if err != nil {
			return fmt.Errorf("part %d of %d: %w", i+1, count, err)
		}
		*parts = append(*parts, p)
		if err := p.follows(i, want); err != nil {
			return err
		}
		total += uint64(len(p.tensors))
	}
	if total != want.tensors {
		return first.errorf(first.keyOffset(keySplitTensors), "key %q is %d, but the %d parts hold %d tensors",
			keySplitTensors, want.tensors, count, total)
	}
	return nil
}

// allThere names every part that is missing, so that a download can be completed in one go.
func allThere(first *part, nth func(uint64) string, count uint64) error {
	const show, enough = 8, 1000
	var missing []string
	n := 0
	for i := uint64(1); i < count && n < enough; i++ {
		if _, err := os.Stat(nth(i)); errors.Is(err, fs.ErrNotExist) {
			if n++; n <= show {
				missing = append(missing, filepath.Base(nth(i)))
			}
		}
	}
	if n == 0 {
		return nil
	}
	more, least := "", ""
	if n > show {
		more = fmt.Sprintf(" and %d more", n-show)
	}
	if n == enough {
		least = "at least "
	}
	return first.errorf(first.keyOffset(keySplitCount), "%s%d of %d parts of the set are missing: %s%s", least, n,
		count,
		strings.Join(missing, ", "), more)
}

// follows checks that p is part no (from 0) of the set that the first part describes.
func (p *part) follows(no uint64, want split) error {
	// Only the first part must state the total.
	total := want.tensors
	if i, ok := p.index[keySplitTensors]; ok {
		if total, ok = toUint(p.keys[i].Value); !ok {
			return p.errorf(p.keyOff[i], "key %q is %s, want a non-negative integer", keySplitTensors,
				p.keys[i].describe())
		}
	}
	for _, k := range []struct {
		key       string
		want, got uint64
		required  bool
	}{
		{key: keySplitCount, want: want.count, required: true},
		{key: keySplitNo, want: no, required: true},
		{key: keySplitTensors, want: want.tensors, got: total},
	} {
		i, ok := p.index[k.key]
		if !ok && k.required {
			return p.errorf(0, "key %q is missing from part %d of %d", k.key, no+1, want.count)
		}
		if k.required {
			if k.got, ok = toUint(p.keys[i].Value); !ok {
				return p.errorf(p.keyOff[i], "key %q is %s, want a non-negative integer", k.key, p.keys[i].describe())
			}
		}
		if k.got != k.want {
			return p.errorf(p.keyOffset(k.key), "key %q is %d in part %d of %d, want %d", k.key, k.got, no+1,
				want.count, k.want)
		}
	}
	return nil
}
