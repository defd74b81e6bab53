package check

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const schemaFile = "../docs/report-schema.json"

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	s, err := jsonschema.NewCompiler().Compile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// asJSON is a report as a reader of its JSON sees it.
func asJSON(t *testing.T, r *Report) map[string]any {
	t.Helper()
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return v.(map[string]any)
}

// reports are one of every kind: the names are those of the verdicts and of what is special.
func reports(t *testing.T) map[string]*Report {
	t.Helper()
	unmeasured := goodSynth(t)
	unmeasured.DeviceWeights, unmeasured.Reference, unmeasured.DriftReason = nil, nil, "it was turned off"
	missing := goodSynth(t)
	missing.Trace = replace(t, missing.Trace, "ffn_norm-1", 0, 0, nil)
	withOps := Norms(goodSynth(t).Input)
	withOps.AddOps([]OpReport{
		{Site: "Qcur-0", Op: "matmul", Verdict: Pass, Local: &Aspect{Verdict: Pass, Ratio: 0.2},
			Drift: &Drift{Aspect: Aspect{Verdict: Pass}, NMSE: 1e-14}},
		{Site: "Kcur-0", Op: "matmul", Verdict: Fail, Local: failed("3 of 8 elements are wrong")},
	}, []string{"Qcur-0", "Kcur-0"})
	return map[string]*Report{
		"passed": Norms(goodSynth(t).Input),
		"failed": Norms(newSynth(t, "ffn_norm-1", func(c *call) { c.eps = 1e-3; c.run() }).Input),
		"NaN": Norms(newSynth(t, "ffn_norm-1",
			func(c *call) { c.run(); c.out[200] = float32(math.NaN()) }).Input),
		"unmeasured": Norms(unmeasured.Input),
		"missing":    Norms(missing.Input),
		"ops":        withOps,
		"empty":      Norms(Input{}),
	}
}

func TestSchema(t *testing.T) {
	s := compileSchema(t)
	want := map[string]Verdict{"passed": Pass, "failed": Fail, "unmeasured": Unmeasured}
	for name, r := range reports(t) {
		if w, ok := want[name]; ok && r.Verdict != w {
			t.Errorf("%s: verdict %s", name, r.Verdict)
		}
		if err := s.Validate(asJSON(t, r)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSchemaRejects: a schema that takes everything describes nothing.
func TestSchemaRejects(t *testing.T) {
	s := compileSchema(t)
	site := func(m map[string]any) map[string]any { return m["sites"].([]any)[3].(map[string]any) }
	for name, spoil := range map[string]func(m map[string]any){
		"another version":    func(m map[string]any) { m["schema"] = "cera-check-0" },
		"no verdict":         func(m map[string]any) { delete(m, "verdict") },
		"unknown verdict":    func(m map[string]any) { m["verdict"] = "MAYBE" },
		"unknown field":      func(m map[string]any) { m["colour"] = "red" },
		"unknown site field": func(m map[string]any) { site(m)["colour"] = "red" },
		"sites are null":     func(m map[string]any) { m["sites"] = nil },
		"negative count":     func(m map[string]any) { m["failed"] = json.Number("-1") },
		"layer in words":     func(m map[string]any) { site(m)["layer"] = "one" },
		"number in words":    func(m map[string]any) { site(m)["residual_rms"] = "large" },
		"ratio is null":      func(m map[string]any) { site(m)["token_ratios"].([]any)[0] = nil },
		"aspect without got": func(m map[string]any) { delete(site(m)["norm"].(map[string]any), "got") },
		"six worst channels": func(m map[string]any) {
			list := site(m)["worst_channels"].([]any)
			site(m)["worst_channels"] = append(list, list[0])
		},
	} {
		m := asJSON(t, reports(t)["failed"])
		spoil(m)
		if s.Validate(m) == nil {
			t.Errorf("%s: taken for a report", name)
		}
	}
}

// TestSchemaDescribes: every field of every struct in a report is in the schema, with words, and nothing else is.
func TestSchemaDescribes(t *testing.T) {
	b, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	var root map[string]any
	if err := json.Unmarshal(b, &root); err != nil {
		t.Fatal(err)
	}
	if id, _ := root["$id"].(string); !strings.HasSuffix(id, ":"+Schema) {
		t.Errorf("$id %q is not of version %s", id, Schema)
	}
	defs := root["$defs"].(map[string]any)
	places := map[string]any{
		"Report": root, "Info": defs["device"], "Fault": defs["fault"], "SiteReport": defs["site"],
		"ChannelRatio": defs["channel"],
		"Aspect":       defs["aspect"], "Drift": defs["drift"], "OpReport": defs["op"], "Build": defs["build"],
	}
	seen := map[reflect.Type]bool{}
	var visit func(reflect.Type)
	visit = func(typ reflect.Type) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || seen[typ] {
			return
		}
		seen[typ] = true
		place, ok := places[typ.Name()].(map[string]any)
		if !ok {
			t.Errorf("%s is not in the schema", typ)
			return
		}
		props := place["properties"].(map[string]any)
		names := map[string]bool{}
		for _, f := range reflect.VisibleFields(typ) {
			if f.Anonymous {
				visit(f.Type)
				continue
			}
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			names[name] = true
			prop, _ := props[name].(map[string]any)
			if words, _ := prop["description"].(string); name == "" || words == "" {
				t.Errorf("%s.%s, %q: no description", typ, f.Name, name)
			}
			visit(f.Type)
		}
		for name := range props {
			if !names[name] {
				t.Errorf("the schema describes %q, which %s does not have", name, typ)
			}
		}
	}
	visit(reflect.TypeFor[Report]())
	if len(seen) != len(places) {
		t.Errorf("%d structs in a report, %d in the schema", len(seen), len(places))
	}
}
