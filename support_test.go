package cera_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"cera/backend"
	"cera/engine"
	"cera/layers"
	"cera/shaders"
)

var update = flag.Bool("update", false, "write the generated parts of docs/support.md")

// TestSupport holds docs/support.md to the tables in the code; make docs writes what it expects.
func TestSupport(t *testing.T) {
	const page = "docs/support.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	want := string(text)
	for part, table := range map[string]string{"architectures": archTable(), "formats": formatTable(t)} {
		begin, end := "<!-- "+part+": written by make docs -->\n", "<!-- end -->"
		head, rest, ok := strings.Cut(want, begin)
		_, tail, ok2 := strings.Cut(rest, end)
		if !ok || !ok2 {
			t.Fatalf("%s: no place for the %s", page, part)
		}
		want = head + begin + table + end + tail
	}
	if want == string(text) {
		return
	}
	if !*update {
		t.Fatalf("%s is not what the tables in the code say: run make docs", page)
	}
	if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

func archTable() string {
	var b strings.Builder
	b.WriteString("| architecture | rope | norms | norm of q and k | activation | MLP | attention's projections | " +
		"windows | more |\n")
	b.WriteString("|---|---|---|---|---|---|---|---|---|\n")
	for _, a := range layers.Table() {
		windows := "none"
		switch {
		case a.Windows == layers.AllWindowed:
			windows = "every block"
		case a.Windows > 0:
			windows = fmt.Sprintf("%d of %d blocks", a.Windows-1, a.Windows)
		}
		fmt.Fprintf(&b, "| %s | %v | %v %v | %v | %v | %v | %v | %s | %s |\n", a.Name, a.Rope, a.Norm, a.Place, a.QK,
			a.Act, a.MLP, a.QKV,
			windows, strings.Join(extras(a), "; "))
	}
	return b.String()
}

// extras says what else a row has.
func extras(a layers.Arch) []string {
	var list []string
	add := func(has bool, text string) {
		if has {
			list = append(list, text)
		}
	}
	add(a.EmbdScale == layers.RootEmbdScale, "embedding times the root of the width")
	add(a.GraniteKey, "scales of embedding, residual, attention and logits from the file")
	add(a.LocalRope == layers.UnscaledRope, "windowed blocks rotate unscaled")
	add(a.LocalRope == layers.ShortRope, "windowed blocks rotate with a base of their own")
	add(a.NoRope == layers.FourthNoRope, "every fourth block does not rotate")
	add(a.NoRope == layers.GlobalNoRope, "blocks without the window do not rotate")
	add(a.NoRope == layers.SwitchNoRope, "rope can be switched off")
	add(a.AttnSoftcap != 0, fmt.Sprintf("softcap of scores %g", a.AttnSoftcap))
	add(a.FinalSoftcap != 0, fmt.Sprintf("softcap of logits %g", a.FinalSoftcap))
	add(a.WideScaleLayers != 0, fmt.Sprintf("with %d blocks, attention scaled by the width", a.WideScaleLayers))
	normalised := ""
	if a.Normalize {
		normalised = ", normalised"
	}
	add(a.MoE, fmt.Sprintf("experts: %v%s", a.Router, normalised))
	return list
}

func formatTable(t *testing.T) string {
	var b strings.Builder
	b.WriteString("| format | elements a block | bytes a block | cpu: embedding, matmul, expert matmul | gpu: the " +
		"same | quantize writes it |\n")
	b.WriteString("|---|---|---|---|---|---|\n")
	templates := shaders.Templates()
	for _, f := range backend.AllFormats() {
		gpu := "as F16"
		if slices.Contains(backend.Formats(), f) {
			gpu = "yes"
			if name := "decode_" + strings.ToLower(f.String()) + ".tmpl"; !slices.Contains(templates, name) {
				t.Errorf("%v has no block decoder %s", f, name)
			}
		}
		writes := ""
		if slices.Contains(engine.QuantizeTypes(), f.String()) {
			writes = "yes"
		}
		fmt.Fprintf(&b, "| %v | %d | %d | yes | %s | %s |\n", f, f.Block(), f.BlockBytes(), gpu, writes)
	}
	return b.String()
}
