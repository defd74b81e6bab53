package chat

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"cera/gguf"
)

// The metadata keys of a model's templates: the one that is used, and others by their names.
const (
	keyTemplate = "tokenizer.chat_template"
	keyNamed    = keyTemplate + "."
)

// ErrNone is wrapped by the error of FromFile where a file has no template of that name.
var ErrNone = errors.New("has no chat template")

// FromFile reads the template that a model's file carries: the one under tokenizer.chat_template, or under
// tokenizer.chat_template.NAME.
func FromFile(f *gguf.File, name string) (*Template, error) {
	key, called := keyTemplate, "tokenizer.chat_template"
	if name != "" {
		key, called = keyNamed+name, name
	}
	text, err := f.String(key)
	if errors.Is(err, gguf.ErrMissing) {
		if name != "" {
			return nil, fmt.Errorf("%s: %w %q, it has %q", f.Path, ErrNone, name, Names(f))
		}
		return nil, fmt.Errorf("%s: %w: the key %q is missing", f.Path, ErrNone, keyTemplate)
	}
	if err != nil {
		return nil, err
	}
	t, err := New(called, text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Path, err)
	}
	return t, nil
}

// Names lists the named templates of a file, in order.
func Names(f *gguf.File) []string {
	names := []string{}
	for _, kv := range f.Keys {
		if name, ok := strings.CutPrefix(kv.Key, keyNamed); ok && name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

//go:embed templates/*.jinja
var builtIn embed.FS

// BuiltIn returns a template that is part of the program: the layout that a family of models was trained on.
func BuiltIn(name string) (*Template, bool) {
	text, err := builtIn.ReadFile("templates/" + name + ".jinja")
	if err != nil {
		return nil, false
	}
	t, err := New(name, string(text))
	return t, err == nil
}

// BuiltInNames lists the names that BuiltIn knows, in order.
func BuiltInNames() []string {
	var names []string
	entries, _ := fs.ReadDir(builtIn, "templates") // it is there: it is embedded
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".jinja"))
	}
	return names
}
