package shaders

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// Bounds on what a template may ask for, far above what any kernel needs.
const (
	maxIncludeDepth = 16      // files open at once
	maxIncludes     = 256     // files read for one shader
	maxOutput       = 1 << 20 // bytes of WGSL
	maxExpansion    = 1 << 16 // bytes of one line after expansion
	maxIfDepth      = 64      // conditionals open at once in one file
)

// Error is a fault in a template.
type Error struct {
	File string
	Line int // from 1
	What string
}

func (e *Error) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.What) }

// preprocessor turns one template into WGSL. Each line of a file becomes a line of output, blank where it was a
// directive or was left out. The text of an included file follows that of the file that includes it, so that the
// lines of the main file keep their numbers; the order of declarations means nothing in WGSL. Its defines take
// effect where the #include stands.
type preprocessor struct {
	fsys     fs.FS
	macros   map[string]*macro
	chunks   []*chunk // output, one for each file read
	stack    []string // files being read, outermost first
	out      int      // bytes of output so far
	includes int
}

// chunk is the output of one file.
type chunk struct {
	text  strings.Builder
	lines []origin
}

// branch is an open conditional.
type branch struct {
	line   int  // of its #if
	outer  bool // the text around it is kept
	active bool // the text of the current branch is kept
	taken  bool // some branch so far was kept
	elsed  bool // #else was seen
}

func newPreprocessor(fsys fs.FS, defines map[string]string) (*preprocessor, error) {
	pp := &preprocessor{fsys: fsys, macros: map[string]*macro{}}
	for name, value := range defines {
		if !isIdent(name) || name == "defined" {
			return nil, fmt.Errorf("define %q: not a name", name)
		}
		if strings.ContainsAny(value, "\r\n") {
			return nil, fmt.Errorf("define %s: the value %q spans lines", name, value)
		}
		if strings.Contains(value, "//") || strings.Contains(value, "/*") {
			return nil, fmt.Errorf("define %s: the value %q holds a comment", name, value)
		}
		pp.macros[name] = &macro{value: value, caller: true}
	}
	return pp, nil
}

func (pp *preprocessor) read(name string) (string, error) {
	b, err := fs.ReadFile(pp.fsys, name)
	return string(b), err
}

// shader joins the output of all files.
func (pp *preprocessor) shader() Shader {
	var s Shader
	var b strings.Builder
	for _, c := range pp.chunks {
		b.WriteString(c.text.String())
		s.lines = append(s.lines, c.lines...)
	}
	s.WGSL = b.String()
	return s
}

// file preprocesses the text of the named file.
func (pp *preprocessor) file(name, text string) error {
	c := &chunk{}
	pp.chunks = append(pp.chunks, c)
	pp.stack = append(pp.stack, name)
	defer func() { pp.stack = pp.stack[:len(pp.stack)-1] }()

	f := &fileState{pp: pp, name: name}
	text = strings.ReplaceAll(text, "\r\n", "\n")
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		f.line++
		out, err := f.process(line)
		if err != nil {
			return err
		}
		c.text.WriteString(out)
		c.text.WriteByte('\n')
		c.lines = append(c.lines, origin{name, f.line})
		if pp.out += len(out) + 1; pp.out > maxOutput {
			return f.errorf("the shader grows past %d bytes", maxOutput)
		}
	}
	if n := len(f.branches); n > 0 {
		return &Error{name, f.branches[n-1].line, "conditional without #endif"}
	}
	if f.comment > 0 {
		return &Error{name, f.commentLine, "comment without end"}
	}
	return nil
}

// fileState is the place reached in one file.
type fileState struct {
	pp          *preprocessor
	name        string
	line        int
	branches    []branch
	comment     int // depth of block comments open at the start of the line
	commentLine int // where the outermost began
	braces      int // depth of braces, to refuse an #include inside a declaration
}

func (f *fileState) errorf(format string, args ...any) error {
	return &Error{f.name, f.line, fmt.Sprintf(format, args...)}
}

// active reports whether the text at this place is kept.
func (f *fileState) active() bool {
	n := len(f.branches)
	return n == 0 || f.branches[n-1].active
}

// process returns the output for one line.
func (f *fileState) process(line string) (string, error) {
	if f.comment == 0 {
		if rest, ok := strings.CutPrefix(strings.TrimLeft(line, " \t"), "#"); ok {
			return "", f.directive(rest)
		}
	}
	if !f.active() {
		return "", nil
	}
	return f.expandLine(line)
}

// directive obeys a line that began with #.
func (f *fileState) directive(text string) error {
	text = strings.TrimSpace(stripComments(text))
	end := strings.IndexFunc(text, func(r rune) bool { return !isIdentPart(r) })
	if end < 0 {
		end = len(text)
	}
	name, arg := text[:end], strings.TrimSpace(text[end:])
	switch name {
	case "ifdef", "ifndef", "if":
		return f.openIf(name, arg)
	case "elif":
		return f.elif(arg)
	case "else":
		return f.elseBranch(arg)
	case "endif":
		if len(f.branches) == 0 {
			return f.errorf("#endif without #if")
		}
		f.branches = f.branches[:len(f.branches)-1]
		return f.nothingAfter("#endif", arg)
	case "define", "undef", "include":
		if !f.active() {
			return nil
		}
		switch name {
		case "define":
			return f.define(arg)
		case "undef":
			return f.undef(arg)
		}
		return f.include(arg)
	}
	return f.errorf("unknown directive #%s", name)
}

func (f *fileState) nothingAfter(directive, arg string) error {
	if arg != "" {
		return f.errorf("%q after %s", arg, directive)
	}
	return nil
}

func (f *fileState) openIf(name, arg string) error {
	if len(f.branches) >= maxIfDepth {
		return f.errorf("conditionals nested deeper than %d", maxIfDepth)
	}
	b := branch{line: f.line, outer: f.active()}
	if b.outer {
		var err error
		if name == "if" {
			b.active, err = f.condition("#if", arg)
		} else {
			if !isIdent(arg) {
				return f.errorf("#%s wants one name, found %q", name, arg)
			}
			b.active = (f.pp.macros[arg] != nil) == (name == "ifdef")
		}
		if err != nil {
			return err
		}
	}
	b.taken = b.active
	f.branches = append(f.branches, b)
	return nil
}

func (f *fileState) elif(arg string) error {
	b, err := f.alternative("#elif")
	if err != nil {
		return err
	}
	b.active = false
	if b.outer && !b.taken {
		b.active, err = f.condition("#elif", arg)
		b.taken = b.active
	}
	return err
}

func (f *fileState) elseBranch(arg string) error {
	b, err := f.alternative("#else")
	if err != nil {
		return err
	}
	b.active = b.outer && !b.taken
	b.taken, b.elsed = true, true
	return f.nothingAfter("#else", arg)
}

// alternative returns the conditional that an #elif or #else continues.
func (f *fileState) alternative(directive string) (*branch, error) {
	if len(f.branches) == 0 {
		return nil, f.errorf("%s without #if", directive)
	}
	b := &f.branches[len(f.branches)-1]
	if b.elsed {
		return nil, f.errorf("%s after the #else of the #if in line %d", directive, b.line)
	}
	return b, nil
}

func (f *fileState) define(arg string) error {
	end := strings.IndexFunc(arg, func(r rune) bool { return !isIdentPart(r) })
	if end < 0 {
		end = len(arg)
	}
	name, value := arg[:end], arg[end:]
	if !isIdent(name) || name == "defined" {
		return f.errorf("#define wants a name, found %q", arg)
	}
	if strings.HasPrefix(value, "(") {
		return f.errorf("#define %s(...): macros with parameters are not supported", name)
	}
	if value != "" && !strings.HasPrefix(value, " ") && !strings.HasPrefix(value, "\t") {
		return f.errorf("#define %s: no space before the value %q", name, value)
	}
	value = strings.TrimSpace(value)
	switch old := f.pp.macros[name]; {
	case old == nil:
		f.pp.macros[name] = &macro{value: value, at: origin{f.name, f.line}}
	case !old.caller && old.value != value:
		return f.errorf("#define %s %s: it is %q since %s:%d", name, value, old.value, old.at.file, old.at.line)
	}
	return nil
}

func (f *fileState) undef(arg string) error {
	if !isIdent(arg) {
		return f.errorf("#undef wants one name, found %q", arg)
	}
	if m := f.pp.macros[arg]; m != nil && !m.caller {
		delete(f.pp.macros, arg)
	}
	return nil
}

func (f *fileState) include(arg string) error {
	name, ok := strings.CutPrefix(arg, `"`)
	if ok {
		name, ok = strings.CutSuffix(name, `"`)
	}
	if !ok || !fs.ValidPath(name) {
		return f.errorf("#include wants a \"file\", found %s", arg)
	}
	pp := f.pp
	if f.braces != 0 {
		return f.errorf("#include %q inside a declaration", name)
	}
	if slices.Contains(pp.stack, name) {
		return f.errorf("#include %q: it includes itself (%s)", name, strings.Join(append(pp.stack, name), " > "))
	}
	if len(pp.stack) >= maxIncludeDepth {
		return f.errorf("#include %q: nested deeper than %d files", name, maxIncludeDepth)
	}
	if pp.includes++; pp.includes > maxIncludes {
		return f.errorf("#include %q: more than %d files", name, maxIncludes)
	}
	text, err := pp.read(name)
	if err != nil {
		return f.errorf("#include %q: %v", name, err)
	}
	return pp.file(name, text)
}
