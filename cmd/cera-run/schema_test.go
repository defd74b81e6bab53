package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"cera/backend"
	"cera/chat"
	"cera/check"
	"cera/engine"
	"cera/gpu"
	"cera/kernelbench"
	"cera/trace"
)

// recordSchemas are the files in docs for what the program writes, and the structs that have its fields; fields of what
// is written from a map are named.
var recordSchemas = map[string]struct {
	version string
	fields  []any
	named   []string
}{
	"diff":     {diffSchema, []any{jsonDiff{}}, nil},
	"trace":    {trace.ManifestSchema, []any{trace.Manifest{}}, nil},
	"paths":    {check.PathsSchema, []any{check.PathsReport{}}, nil},
	"generate": {generateSchema, nil, []string{"id", "text", "logprob", "top", "schema", "finish", "prompt_tokens", "tokens", "seconds_to_first_token", "decode_tokens_per_s", "prefill_tokens_per_s"}},
	"logits":   {logitsSchema, []any{nextToken{}}, []string{"schema", "next"}},
	"embed":    {embedSchema, nil, []string{"schema", "tokens", "mean", "normalized", "rows"}},
	"bench":    {benchSchema, []any{benchRecord{}, profiled{}, kernelbench.Report{}}, []string{"profiles", "kernel_report"}},
	"chat":     {chatSchema, []any{savedChat{}}, nil},
	"plan":     {engine.PlanSchema, []any{engine.Plan{}}, nil},
	"version":  {versionSchema, []any{versionInfo{}}, nil},
	"inspect":  {inspectSchema, []any{inspection{}}, nil},
	"devices":  {engine.DevicesSchema, []any{engine.Devices{}}, nil},
	"tokenize": {tokenizeSchema, []any{tokenized{}}, nil},
	"merge":    {check.MergeSchema, []any{check.Merged{}}, nil},
}

func schemaPath(name string) string { return filepath.Join("..", "..", "docs", name+"-schema.json") }

func compileSchemas(t *testing.T) map[string]*jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	ids := map[string]string{}
	for _, name := range append([]string{"report"}, sortedNames()...) {
		b, err := os.ReadFile(schemaPath(name))
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
		if err != nil {
			t.Fatalf("%s: %v", schemaPath(name), err)
		}
		ids[name], _ = doc.(map[string]any)["$id"].(string)
		if err := c.AddResource(ids[name], doc); err != nil {
			t.Fatal(err)
		}
	}
	schemas := map[string]*jsonschema.Schema{}
	for name, id := range ids {
		s, err := c.Compile(id)
		if err != nil {
			t.Fatalf("%s: %v", schemaPath(name), err)
		}
		if r, ok := recordSchemas[name]; ok && !strings.HasSuffix(id, ":"+r.version) {
			t.Errorf("%s: $id %q is not of version %s", schemaPath(name), id, r.version)
		}
		schemas[name] = s
	}
	return schemas
}

func sortedNames() []string {
	var names []string
	for name := range recordSchemas {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func decoded(t *testing.T, text []byte) any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%v: %.300s", err, text)
	}
	return v
}

func encoded(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// records runs the commands, and returns what they wrote by the schema that it must be valid by.
func records(t *testing.T) map[string][][]byte {
	t.Helper()
	dir := t.TempDir()
	all := map[string][][]byte{}
	cera := func(schema string, code int, args ...string) {
		t.Helper()
		var out, errOut writer
		if got := run(context.Background(), args, &out, &errOut); got != code {
			t.Fatalf("%q: exit code %d\n%s%s", args, got, out.text, errOut.text)
		}
		switch schema {
		case "":
		case "generate":
			for line := range strings.Lines(out.text) {
				all[schema] = append(all[schema], []byte(line))
			}
		default:
			all[schema] = append(all[schema], []byte(out.text))
		}
	}
	archs := filepath.Join("..", "..", "testdata", "archs")
	a, b, few := filepath.Join(dir, "a.npz"), filepath.Join(dir, "b.npz"), filepath.Join(dir, "few.npz")
	other, wide := filepath.Join(dir, "other.npz"), filepath.Join(dir, "wide.npz")
	for _, d := range [][]string{
		{a, "llama.gguf"}, {b, "llama3-ropefreqs.gguf"}, {few, "llama.gguf", "--sites", "ffn_norm-*"},
		{other, "llama.gguf", "--tokens", "1,2,4"}, {wide, "llama-odd.gguf"},
	} {
		args := append([]string{"dump", "--device", "cpu", "--quiet", "--tokens", "1,2,3", "--out", d[0], filepath.Join(archs, d[1])}, d[2:]...)
		cera("", 0, args...)
		tr, err := trace.Open(d[0])
		if err != nil {
			t.Fatal(err)
		}
		all["trace"] = append(all["trace"], encoded(t, tr.Manifest))
	}
	cera("diff", 0, "diff", "--json", a, a)
	cera("diff", 1, "diff", "--json", a, b)
	cera("diff", 1, "diff", "--json", "--tol", "0", a, b)
	for _, with := range []string{few, other, wide} {
		var out, errOut writer
		run(context.Background(), []string{"diff", "--json", a, with}, &out, &errOut)
		all["diff"] = append(all["diff"], []byte(out.text))
	}
	cera("paths", 0, "check", "--device", "cpu", "--paths", "--json")
	fault := &check.PathsReport{
		Schema: check.PathsSchema, Verdict: check.Fail, Device: backend.Info{Backend: "cpu"}, First: &check.PathFault{Site: "embd", Layer: -1, Reason: "x"},
		Paths: []check.PathReport{}, Sites: []check.PathSite{},
	}
	all["paths"] = append(all["paths"], encoded(t, fault))
	cera("generate", 0, "generate", "--device", "cpu", "--json", "-n", "4", "--temp", "1", "--logprobs", "2")
	cera("generate", 0, "generate", "--device", "cpu", "--json", "-n", "3", "--temp", "0", "--stop", "e", "-p", "Tom")
	cera("logits", 0, "logits", "--device", "cpu", "--json", "-k", "3", "-p", "Tom")
	cera("logits", 0, "logits", "--device", "cpu", "--json", "--tokens", "1,2", filepath.Join(archs, "llama.gguf"))
	cera("embed", 0, "embed", "--device", "cpu", "-p", "Tom")
	cera("embed", 0, "embed", "--device", "cpu", "-p", "Tom", "--mean", "--normalize")
	cera("bench", 0, "bench", "--device", "cpu", "--quiet", "-p", "4", "-n", "2", "-d", "3", "-r", "2", "-o", "json")
	cera("bench", 0, "bench", "--device", "cpu", "--quiet", "-p", "0", "-n", "0", "-o", "json")
	all["bench"] = append(all["bench"], benchRecords(t)...)
	cera("plan", 0, "check", "--device", "cpu", "--dry-run", "--json")
	all["plan"] = append(all["plan"], encoded(t, &engine.Plan{
		Schema: engine.PlanSchema, Model: "x", Device: backend.Info{Backend: "gpu"}, KVType: "f16", Budget: 1, Advice: []string{"y"},
	}))
	cera("version", 0, "version", "--json")
	all["inspect"] = append(all["inspect"], inspectRecords(t)...)
	cera("devices", 0, "devices", "--json")
	all["devices"] = append(all["devices"], encoded(t, &engine.Devices{Schema: engine.DevicesSchema, Adapters: []gpu.AdapterInfo{}, Problem: "none", Auto: -1, GPU: -1}))
	story := filepath.Join("..", "..", "internal", "storymodel", "model", "story.gguf")
	cera("tokenize", 0, "tokenize", "--json", story, "Tom and \xff é")
	cera("tokenize", 0, "tokenize", "--json", "--no-bos", story, "")
	cera("tokenize", 0, "tokenize", "--json", "--decode", story, "1 5 300")
	checked := filepath.Join(dir, "check.json")
	for _, failed := range []int{0, 1} {
		text, err := json.Marshal(&check.Report{Schema: check.Schema, Verdict: []check.Verdict{check.Pass, check.Fail}[failed], Passed: 1, Failed: failed,
			First: []*check.Fault{nil, {Site: "embd", Layer: -1, Reason: "x"}}[failed]})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(checked, text, 0o666); err != nil {
			t.Fatal(err)
		}
		cera("merge", failed, "merge", "--json", checked)
	}
	saved := filepath.Join(dir, "chat.json")
	for _, messages := range [][]chat.Message{nil, {{Role: "system", Content: ""}, {Role: "user", Content: "Tom"}}} {
		if err := saveChat(saved, messages, true); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(saved)
		if err != nil {
			t.Fatal(err)
		}
		all["chat"] = append(all["chat"], text)
	}
	return all
}

// TestRecords: what the commands write is valid by its schema, and is not once it is spoiled.
func TestRecords(t *testing.T) {
	schemas, all := compileSchemas(t), records(t)
	for _, name := range sortedNames() {
		if len(all[name]) == 0 {
			t.Errorf("%s: nothing was written", name)
		}
		for _, text := range all[name] {
			if err := schemas[name].Validate(decoded(t, text)); err != nil {
				t.Errorf("%s: %v\n%.1000s", name, err, text)
			}
			for what, spoil := range map[string]func(m map[string]any){
				"another version": func(m map[string]any) {
					if m["schema"] == nil { // a record of a token
						delete(m, "id")
					} else {
						m["schema"] = "cera-none-1"
					}
				},
				"unknown field": func(m map[string]any) { m["colour"] = "red" },
				"empty":         func(m map[string]any) { clear(m) },
			} {
				m := decoded(t, text).(map[string]any)
				spoil(m)
				if schemas[name].Validate(m) == nil {
					t.Errorf("%s, %s: taken for a record\n%.300s", name, what, text)
				}
			}
		}
	}
}

// TestSchemasDescribe: the schemas describe the fields of the structs that are written, with words, and no others.
func TestSchemasDescribe(t *testing.T) {
	for _, name := range sortedNames() {
		b, err := os.ReadFile(schemaPath(name))
		if err != nil {
			t.Fatal(err)
		}
		described := map[string]bool{}
		var walk func(v any)
		walk = func(v any) {
			switch v := v.(type) {
			case []any:
				for _, item := range v {
					walk(item)
				}
			case map[string]any:
				if props, ok := v["properties"].(map[string]any); ok {
					if v["additionalProperties"] != false {
						t.Errorf("%s: an object takes fields that are not described", name)
					}
					for field, p := range props {
						described[field] = true
						if words, _ := p.(map[string]any)["description"].(string); words == "" {
							t.Errorf("%s: %q has no description", name, field)
						}
					}
				}
				for _, item := range v {
					walk(item)
				}
			}
		}
		walk(decoded(t, b))
		want := map[string]bool{}
		for _, field := range recordSchemas[name].named {
			want[field] = true
		}
		for _, v := range recordSchemas[name].fields {
			addFields(want, reflect.TypeOf(v), v)
		}
		for field := range want {
			if !described[field] {
				t.Errorf("%s does not describe %q", name, field)
			}
		}
		for field := range described {
			if !want[field] {
				t.Errorf("%s describes %q, which is not written", name, field)
			}
		}
	}
}

// addFields adds the JSON names of a struct's fields and of the structs in them, but for those with a schema of their own.
func addFields(names map[string]bool, typ reflect.Type, root any) {
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice || typ.Kind() == reflect.Array {
		typ = typ.Elem()
	}
	own := []reflect.Type{reflect.TypeFor[check.Report](), reflect.TypeFor[backend.Info](), reflect.TypeFor[check.Build](), reflect.TypeFor[check.Fault](), reflect.TypeFor[trace.Manifest]()}
	if typ.Kind() != reflect.Struct || slices.Contains(own, typ) && typ != reflect.TypeOf(root) {
		return
	}
	for _, f := range reflect.VisibleFields(typ) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || !f.IsExported() {
			continue
		}
		if !f.Anonymous {
			names[name] = true
		}
		addFields(names, f.Type, root)
	}
}
