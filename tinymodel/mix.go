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
	Finer gguf.Type // of the output, and of the values and down projections of about half of the blocks
}

// MixByName finds a mix: a format that WriteShape writes, for all matrices, or llama.cpp's Q4_K_M or Q5_K_M.
func MixByName(name string) (Mix, error) {
	type mix struct {
		name        string
		main, finer backend.Format
	}
	var all []mix
	for _, f := range backend.AllFormats() {
		if CanWrite(f) {
			all = append(all, mix{f.String(), f, f})
		}
	}
	all = append(all, mix{"Q4_K_M", backend.Q4_K, backend.Q6_K}, mix{"Q5_K_M", backend.Q5_K, backend.Q6_K})
	var names []string
	for _, m := range all {
		if m.name != name {
			names = append(names, m.name)
			continue
		}
		t, err := weights.TypeOf(m.main)
		if err != nil {
			return Mix{}, err
		}
		finer, err := weights.TypeOf(m.finer)
		return Mix{name, t, finer}, err
	}
	return Mix{}, fmt.Errorf("type %q is not one of %s", name, strings.Join(names, ", "))
}

// of returns the type of a matrix of a block.
func (m Mix) of(matrix string, block, blocks int) gguf.Type {
	if (matrix == "attn_v" || matrix == "ffn_down") &&
		(block < blocks/8 || block >= 7*blocks/8 || (block-blocks/8)%3 == 2) {
		return m.Finer
	}
	return m.Type
}
