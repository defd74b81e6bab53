package gguf

import (
	"errors"
	"fmt"
)

// FormatError says that a file breaks the format, or is not a file of this format at all.
type FormatError struct {
	Path   string // the file, empty if it has no name
	Offset int64  // where the offending field starts, in bytes from the start of the file
	What   string // what was found, what was expected, and the key or tensor it belongs to
}

func (e *FormatError) Error() string {
	if e.Path == "" {
		return fmt.Sprintf("gguf: at byte %d: %s", e.Offset, e.What)
	}
	return fmt.Sprintf("gguf: %s: at byte %d: %s", e.Path, e.Offset, e.What)
}

// ErrMissing is what a [KeyError] for an absent key is, in the sense of errors.Is.
var ErrMissing = errors.New("key is missing")

// KeyError says that a metadata key is absent, or holds something else than was asked for.
type KeyError struct {
	Key  string
	Want string // what the caller asked for, as "a non-negative integer"
	Got  string // what the file holds, as "int32 -1"; empty if the key is absent
	Path string // the file, empty if it has no name
}

func (e *KeyError) Error() string {
	file := ""
	if e.Path != "" {
		file = e.Path + ": "
	}
	if e.Got == "" {
		return fmt.Sprintf("gguf: %skey %q is missing, want %s", file, e.Key, e.Want)
	}
	return fmt.Sprintf("gguf: %skey %q is %s, want %s", file, e.Key, e.Got, e.Want)
}

// Is makes errors.Is(err, ErrMissing) true for an absent key.
func (e *KeyError) Is(target error) bool { return target == ErrMissing && e.Got == "" }
