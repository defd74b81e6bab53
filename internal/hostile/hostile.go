// Package hostile has GGUF files that must be refused: broken on purpose, or made to take the memory of who trusts
// them. They are made by code, each with what a message about it must say. It is for tests.
package hostile

import (
	"fmt"
	"os"
	"path/filepath"
)

// Stage is how far a file gets.
type Stage int

const (
	Format     Stage = iota // it breaks the file format: nothing reads it
	Model                   // it is a GGUF file, but what it describes is no model
	Load                    // the model makes sense until its tensors are read
	Vocabulary              // the model may run, but has no usable tokenizer
	Template                // and this one has no usable chat template
	Values                  // it runs; only a look at every element tells what is wrong
)

func (s Stage) String() string {
	return [...]string{"format", "model", "load", "vocabulary", "template", "values"}[s]
}

// Row is a hostile file.
type Row struct {
	Name  string
	Stage Stage
	Want  []string // parts of the message, beside the name of the file
	make  func(dir string) (path string, err error)
}

// Make writes the file, and those that belong to it, into a folder of its own and returns the path to open.
func (r Row) Make(dir string) (string, error) {
	path, err := r.make(dir)
	if err != nil {
		return "", fmt.Errorf("hostile file %q: %w", r.Name, err)
	}
	return path, nil
}

// Rows returns all hostile files of this system.
func Rows() []Row {
	var rows []Row
	for _, list := range []func() []Row{
		headers, keys, tensors, floods, splits, notFiles, pipes, models, shapes, loads, vocabularies, templates,
		values} {
		rows = append(rows, list()...)
	}
	return rows
}

// fileName is the name that most of them have.
const fileName = "model.gguf"

// write writes one of the files of a row.
func write(dir, name string, b []byte) (string, error) {
	path := filepath.Join(dir, name)
	return path, os.WriteFile(path, b, 0o600)
}

// broken is a row of a file with content b, which breaks the format.
func broken(name string, b raw, want ...string) Row {
	return Row{name, Format, want, func(dir string) (string, error) { return write(dir, fileName, b) }}
}

// sparse is broken for a file of size bytes, of which those after b are zeros that take no room on a disk.
func sparse(name string, b raw, size int64, want ...string) Row {
	return Row{name, Format, want, func(dir string) (string, error) {
		path, err := write(dir, fileName, b)
		if err == nil {
			err = os.Truncate(path, size)
		}
		return path, err
	}}
}
