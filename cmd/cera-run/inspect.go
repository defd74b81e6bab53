package main

import (
	"fmt"
	"io"
	"reflect"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"cera/engine"
	"cera/gguf"
)

// inspectSchema names the form of the JSON that inspect prints.
const inspectSchema = "cera-inspect-1"

func inspectCommand() *cobra.Command {
	var asJSON, all, validate bool
	cmd := &cobra.Command{
		Use:   "inspect MODEL",
		Short: "Show a file's metadata and tensors, and the architecture it resolves to",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := openFile(args)
			if err != nil {
				return err
			}
			defer f.Close()
			in := inspect(f)
			if validate {
				if in.Validation, err = engine.Validate(cmd.Context(), f); err != nil {
					return err
				}
			}
			if asJSON {
				err = writeJSON(cmd.OutOrStdout(), in)
			} else {
				err = in.print(cmd.OutOrStdout(), all)
			}
			if err == nil && in.Problem != "" {
				// What is wrong stands in the output; the exit code says so too.
				err = fmt.Errorf("%s cannot run as it is", f.Path)
			}
			if err == nil && validate && len(in.Validation.Bad) > 0 {
				err = fmt.Errorf("%s has elements that are no finite numbers: get it anew, or convert the model again",
					f.Path)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON, schema "+inspectSchema)
	cmd.Flags().BoolVar(&validate, "validate", false,
		"look at every element of every tensor, and name what is NaN or infinite")
	cmd.Flags().BoolVar(&all, "all", false, "print long values and every tensor in full")
	return cmd
}

func openFile(args []string) (*gguf.File, error) {
	if len(args) > 0 {
		return gguf.Open(args[0])
	}
	return engine.BuiltIn()
}

// inspection is what inspect prints.
type inspection struct {
	Schema       string            `json:"schema"`
	File         string            `json:"file"`
	Version      uint32            `json:"gguf_version"`
	Alignment    uint64            `json:"alignment"`
	Metadata     []inspectedKey    `json:"metadata"` // in the file's order
	Tensors      []inspectedTensor `json:"tensors"`  // in the file's order
	Types        []typeTotal       `json:"types"`    // by first appearance
	Bytes        uint64            `json:"tensor_bytes"`
	Elements     uint64            `json:"elements"`
	Architecture map[string]string `json:"architecture"` // what it resolves to, or null
	Missing      []string          `json:"missing"`
	Unused       []string          `json:"unused"`
	GPU          []string          `json:"gpu_notes"`         // what a GPU holds in another format than the file
	Problem      string            `json:"problem,omitempty"` // why the file cannot run

	Validation *engine.Validation `json:"validation,omitempty"` // with --validate

	properties []engine.Property // of Architecture, in order
}

type inspectedKey struct {
	Key   string `json:"key"`
	Type  string `json:"type"`
	Value any    `json:"value"` // of a long array or text, its length alone
}

type inspectedTensor struct {
	Name  string   `json:"name"`
	Type  string   `json:"type"`
	Dims  []uint64 `json:"dims"` // GGUF order, row length first
	Bytes uint64   `json:"bytes"`
}

type typeTotal struct {
	Type    string `json:"type"`
	Tensors int    `json:"tensors"`
	Bytes   uint64 `json:"bytes"`
}

// Lengths past which a value of the metadata is shown as its length: of an array, and of text in bytes. No chat
// template is taken that is longer.
const (
	longArray = 16
	longText  = 1 << 20
)

// outline returns a value of the metadata, or its length where it is long.
func outline(value any) any {
	text := 0
	switch v := value.(type) {
	case string:
		text = len(v)
	case []string:
		for _, s := range v[:min(len(v), longArray)] {
			text += len(s)
		}
	}
	switch v := reflect.ValueOf(value); {
	case v.Kind() == reflect.Slice && v.Len() > longArray:
		return fmt.Sprintf("%d values", v.Len())
	case text > longText:
		return fmt.Sprintf("%d bytes", text)
	}
	return finite(value)
}

func inspect(f *gguf.File) *inspection {
	in := &inspection{
		Schema: inspectSchema, File: f.Path, Version: f.Version, Alignment: f.Alignment, Metadata: []inspectedKey{},
		Tensors: []inspectedTensor{}, Types: []typeTotal{}, Missing: []string{}, Unused: []string{}, GPU: []string{},
	}
	for _, kv := range f.Keys {
		in.Metadata = append(in.Metadata, inspectedKey{kv.Key, kv.Type.String(), outline(kv.Value)})
	}
	index := map[string]int{}
	for _, t := range f.Tensors {
		in.Tensors = append(in.Tensors, inspectedTensor{t.Name, t.Type.String(), t.Dims, t.Size})
		i, ok := index[t.Type.String()]
		if !ok {
			i = len(in.Types)
			index[t.Type.String()] = i
			in.Types = append(in.Types, typeTotal{Type: t.Type.String()})
		}
		in.Types[i].Tensors++
		in.Types[i].Bytes += t.Size
		in.Bytes += t.Size
		in.Elements += uint64(t.N()) * uint64(t.Rows())
	}
	r, err := engine.Resolve(f)
	if err != nil {
		in.Problem = err.Error()
	}
	if r != nil {
		in.Architecture = map[string]string{}
		in.properties = r.Config.Properties()
		for _, p := range in.properties {
			in.Architecture[p.Name] = p.Value
		}
		in.Missing = append(in.Missing, r.Binding.Missing...)
		in.Unused = append(in.Unused, r.Binding.Unused...)
		in.GPU = append(in.GPU, r.GPUNotes()...)
	}
	return in
}

// finite replaces numbers that JSON cannot hold by their text, also those in arrays.
func finite(value any) any {
	switch v := reflect.ValueOf(value); v.Kind() {
	case reflect.Float32, reflect.Float64:
		if f := v.Float(); f-f != 0 {
			return fmt.Sprint(f)
		}
	case reflect.Slice:
		switch v.Type().Elem().Kind() {
		case reflect.Float32, reflect.Float64, reflect.Interface:
			list := make([]any, v.Len())
			for i := range list {
				list[i] = finite(v.Index(i).Interface())
			}
			return list
		}
	}
	return value
}

func (in *inspection) print(out io.Writer, all bool) error {
	fmt.Fprintf(out, "%s: GGUF version %d, %d keys, %d tensors, %d elements, %s\n\n", in.File, in.Version,
		len(in.Metadata), len(in.Tensors),
		in.Elements, engine.Size(in.Bytes))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, k := range in.Metadata {
		fmt.Fprintf(w, "%s\t%s\t%s\n", shown(k.Key, all), k.Type, shown(k.Value, all))
	}
	fmt.Fprintln(w)
	for _, t := range in.Types {
		fmt.Fprintf(w, "%s\t%d tensors\t%s\n", t.Type, t.Tensors, engine.Size(t.Bytes))
	}
	fmt.Fprintln(w)
	for _, t := range in.Tensors {
		fmt.Fprintf(w, "%s\t%s\t%v\t%s\n", shown(t.Name, all), t.Type, t.Dims, engine.Size(t.Bytes))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out)
	for _, p := range in.properties {
		fmt.Fprintf(w, "%s\t%s\n", p.Name, p.Value)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(out)
	for _, list := range []struct {
		what  string
		names []string
	}{{"missing", in.Missing}, {"unused", in.Unused}} {
		if len(list.names) > 0 {
			names := make([]string, len(list.names))
			for i, name := range list.names {
				names[i] = shown(name, all)
			}
			fmt.Fprintf(out, "%s: %s\n", list.what, strings.Join(names, ", "))
		}
	}
	for _, note := range in.GPU {
		fmt.Fprintf(out, "on a GPU: %s\n", note)
	}
	if in.Validation != nil {
		if err := printValidation(out, in.Validation); err != nil {
			return err
		}
	}
	if in.Problem != "" {
		_, err := fmt.Fprintf(out, "\nIt cannot run: %s\n", in.Problem)
		return err
	}
	_, err := fmt.Fprintln(out, "Every tensor has its place: nothing is missing, nothing unused.")
	return err
}
