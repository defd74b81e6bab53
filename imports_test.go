package cera

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// importTable says which packages of ours each package may import; its tests may import more. Only gpu sees the
// WebGPU binding. A package that is not here may not exist.
const importTable = `
	backend:
	backend/backendtest: backend weights check kernelbench
	gguf:
	gguf/gguftest: gguf
	shaders:
	weights:      gguf backend internal/cores
	layers:       backend weights
	cpu:          backend weights
	cpufast:      backend cpu internal/cores weights
	gpu:          backend internal/cores shaders
	trace:        backend
	check:        trace backend layers cpu
	tinymodel:    gguf backend weights
	kernelbench:  backend weights
	internal/cores:
	internal/storymodel:      backend gguf tokenizer trace weights
	internal/hostile:         gguf tinymodel
	internal/storymodel/make: engine gguf internal/storymodel sample tokenizer trace
	tokenizer:    gguf
	grammar:
	chat:         gguf
	sample:
	engine:       backend check cpu cpufast gguf gpu internal/storymodel kernelbench layers sample tinymodel tokenizer trace weights
	cmd/cera-run: engine check kernelbench trace tokenizer sample gguf chat grammar
	.:
`

// binding is the WebGPU binding, which must stay replaceable by editing one package.
const binding = "github.com/cogentcore/webgpu"

func TestImports(t *testing.T) {
	allowed := map[string][]string{}
	for line := range strings.Lines(importTable) {
		if pkg, deps, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			allowed[pkg] = strings.Fields(deps)
		}
	}
	out, err := exec.Command("go", "list", "-f", "{{.ImportPath}} {{join .Imports \" \"}} {{join .CgoFiles \" \"}}",
		"./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	seen := 0
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		pkg := strings.TrimPrefix(fields[0], "cera/")
		if pkg == "cera" {
			pkg = "."
		}
		may, ok := allowed[pkg]
		if !ok {
			t.Errorf("package %s is not in the import table", pkg)
			continue
		}
		seen++
		for _, imp := range fields[1:] {
			if ours, ok := strings.CutPrefix(imp, "cera/"); ok && !slices.Contains(may, ours) {
				t.Errorf("%s imports %s; it may import %v", pkg, ours, may)
			}
			if strings.HasPrefix(imp, binding) && pkg != "gpu" {
				t.Errorf("%s imports the WebGPU binding; only gpu may", pkg)
			}
		}
	}
	if seen != len(allowed) {
		t.Errorf("the table has %d packages, %d were found", len(allowed), seen)
	}
}
