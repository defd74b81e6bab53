package tinymodel

import (
	"fmt"
	"strings"

	"cera/backend"
	"cera/gguf"
	"cera/weights"
)

// Mix says in which types a file's matrices are.
type Mix struct {
	Name  string
	Type  gguf.Type
	Finer gguf.Type // with Mixed: of the output, and of the values and down projections of about half of the blocks
	Mixed bool
}

// mixes are those of llama.cpp with their names.
var mixes = []struct {
	name        string
	main, finer backend.Format
}{
	{"Q4_K_M", backend.Q4_K, backend.Q6_K},
	{"Q5_K_M", backend.Q5_K, backend.Q6_K},
}

// MixByName finds a mix: a format that WriteShape writes, or Q4_K_M or Q5_K_M.
func MixByName(name string) (Mix, error) {
	var names []string
	for _, f := range backend.AllFormats() {
		if !CanWrite(f) {
			continue
		}
		if f.String() == name {
			t, err := weights.TypeOf(f)
			return Mix{Name: name, Type: t}, err
		}
		names = append(names, f.String())
	}
	for _, m := range mixes {
		if m.name == name {
			t, err := weights.TypeOf(m.main)
			if err != nil {
				return Mix{}, err
			}
			finer, err := weights.TypeOf(m.finer)
			return Mix{Name: name, Type: t, Finer: finer, Mixed: true}, err
		}
		names = append(names, m.name)
	}
	return Mix{}, fmt.Errorf("type %q is not one of %s", name, strings.Join(names, ", "))
}

// of returns the type of a matrix of a block.
func (m Mix) of(matrix string, block, blocks int) gguf.Type {
	if m.Mixed && (matrix == "attn_v" || matrix == "ffn_down") &&
		(block < blocks/8 || block >= 7*blocks/8 || (block-blocks/8)%3 == 2) {
		return m.Finer
	}
	return m.Type
}

// output returns the type of the matrix that makes logits.
func (m Mix) output() gguf.Type {
	if m.Mixed {
		return m.Finer
	}
	return m.Type
}
