package shaders

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"
)

//go:embed *.wgsl *.tmpl
var templates embed.FS

// Shader is the WGSL made from a template, with the origin of each of its lines.
type Shader struct {
	WGSL  string
	lines []origin // of line i+1
}

// origin is a line of a template.
type origin struct {
	file string
	line int
}

// Source preprocesses the template of p with p's defines. Errors are of type *Error where a line is to blame.
func Source(p Program) (Shader, error) { return SourceFS(templates, p) }

// SourceFS is Source with the templates of fsys in place of the package's own.
func SourceFS(fsys fs.FS, p Program) (Shader, error) {
	pp, err := newPreprocessor(fsys, p.Defines)
	if err != nil {
		return Shader{}, fmt.Errorf("%s: %w", p.File, err)
	}
	text, err := pp.read(p.File)
	if err != nil {
		return Shader{}, fmt.Errorf("template %s: %w", p.File, err)
	}
	if err := pp.file(p.File, text); err != nil {
		return Shader{}, err
	}
	return pp.shader(), nil
}

// Overlay is the package's own templates, with the files of fsys in place of those of the same name.
func Overlay(fsys fs.FS) fs.FS { return overlay{fsys} }

type overlay struct{ over fs.FS }

func (o overlay) Open(name string) (fs.File, error) {
	f, err := o.over.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return templates.Open(name)
	}
	return f, err
}

// Templates lists the files of the package's own templates.
func Templates() []string {
	entries, err := templates.ReadDir(".")
	if err != nil {
		panic(err) // the files are in the program
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names
}

// Origin returns the template file and line that line (from 1) of the WGSL was made from. It returns "" and 0 for
// a line that the WGSL does not have.
func (s Shader) Origin(line int) (file string, templateLine int) {
	if line < 1 || line > len(s.lines) {
		return "", 0
	}
	o := s.lines[line-1]
	return o.file, o.line
}

var (
	compilerRef    = regexp.MustCompile(`\bwgsl:(\d+):(\d+)`)
	compilerGutter = regexp.MustCompile(`(?m)^( *)(\d+)( *│)`)
)

// Explain rewrites a compiler's message about the WGSL so that it speaks of the templates: references of the form
// wgsl:LINE:COLUMN become FILE:LINE:COLUMN, and the line numbers beside quoted source become the template's.
func (s Shader) Explain(message string) string {
	message = compilerRef.ReplaceAllStringFunc(message, func(ref string) string {
		m := compilerRef.FindStringSubmatch(ref)
		file, line := s.originText(m[1])
		if file == "" {
			return ref
		}
		return file + ":" + line + ":" + m[2]
	})
	return compilerGutter.ReplaceAllStringFunc(message, func(gutter string) string {
		m := compilerGutter.FindStringSubmatch(gutter)
		file, line := s.originText(m[2])
		if file == "" {
			return gutter
		}
		// Keep the bar where it was, so that the carets below still point at the right column.
		return fmt.Sprintf("%*s%s", len(m[1])+len(m[2]), line, m[3])
	})
}

// originText is Origin on decimal text.
func (s Shader) originText(line string) (file, templateLine string) {
	n, err := strconv.Atoi(line)
	if err != nil {
		return "", ""
	}
	f, l := s.Origin(n)
	return f, strconv.Itoa(l)
}
