package tinymodel

import (
	"fmt"
	"strings"

	"cera/gguf"
)

// Bounds on each width and on the elements of one tensor: nothing overflows, and memory stays within reach.
const (
	maxDim      = 1 << 20
	maxElements = 1 << 30
	maxExperts  = 1 << 10
)

// validate returns an error that names the first option no model can have.
func (o Options) validate() error {
	a, ok := o.find()
	if !ok {
		return fmt.Errorf("option Arch is %q, expected one of %s", o.Arch, strings.Join(Archs(), ", "))
	}
	for _, f := range []struct {
		name        string
		value       int
		least, most int
	}{
		{"Layers", o.Layers, 1, maxDim}, {"Dim", o.Dim, 1, maxDim}, {"FF", o.FF, 1, maxDim},
		{"Heads", o.Heads, 1, maxDim},
		{"KVHeads", o.KVHeads, 1, maxDim}, {"Vocab", o.Vocab, 1, maxDim}, {"Ctx", o.Ctx, 1, maxDim},
		{"Experts", o.Experts, 0, maxExperts}, {"ExpertFF", o.ExpertFF, 0, maxDim}, {"SharedFF", o.SharedFF, 0, maxDim},
		{"Window", o.Window, 0, maxDim}, {"OrigCtx", o.OrigCtx, 0, maxDim},
	} {
		if f.value < f.least || f.value > f.most {
			return fmt.Errorf("option %s is %d, expected %d to %d", f.name, f.value, f.least, f.most)
		}
	}
	for _, f := range []struct {
		name  string
		value float32
		above bool // 0 is not allowed
	}{
		{"Eps", o.Eps, false}, {"RopeBase", o.RopeBase, true}, {"RopeFactor", o.RopeFactor, false},
		{"AttnSoftcap", o.AttnSoftcap, false}, {"FinalSoftcap", o.FinalSoftcap, false},
	} {
		switch finite := f.value-f.value == 0; {
		case f.above && !(finite && f.value > 0):
			return fmt.Errorf("option %s is %v, expected a finite number above 0", f.name, f.value)
		case !(finite && f.value >= 0):
			return fmt.Errorf("option %s is %v, expected a finite number, 0 or more", f.name, f.value)
		}
	}
	if err := o.validateHeads(); err != nil {
		return err
	}
	switch {
	case o.Experts > 0 && !a.moe:
		return fmt.Errorf("option Experts is %d, expected 0 for %s", o.Experts, a.name)
	case o.Experts > 0 && (o.ExpertsUsed < 1 || o.ExpertsUsed > o.Experts):
		return fmt.Errorf("option ExpertsUsed is %d, expected 1 to Experts (%d)", o.ExpertsUsed, o.Experts)
	case o.Experts == 0 && o.ExpertsUsed+o.ExpertFF+o.SharedFF != 0:
		return fmt.Errorf("options ExpertsUsed, ExpertFF and SharedFF are %d, %d and %d, expected 0 where Experts is",
			o.ExpertsUsed, o.ExpertFF, o.SharedFF)
	case len(o.Windowed) != 0 && len(o.Windowed) != o.Layers:
		return fmt.Errorf("option Windowed has %d values, expected one for each of Layers (%d)", len(o.Windowed),
			o.Layers)
	case o.Vectors != gguf.F32 && o.Vectors != gguf.F16 && o.Vectors != gguf.BF16:
		return fmt.Errorf("option Vectors is %v, expected F32, F16 or BF16", o.Vectors)
	case o.largest() > maxElements:
		return fmt.Errorf("the largest tensor has %d elements, expected at most %d", o.largest(), maxElements)
	}
	return nil
}

// validateHeads is validate for heads and their size.
func (o Options) validateHeads() error {
	switch hd := o.headDim(); {
	case o.HeadDim == 0 && o.Dim%o.Heads != 0:
		return fmt.Errorf("option Dim is %d, expected a multiple of Heads (%d) where HeadDim is 0", o.Dim, o.Heads)
	case hd < 2 || hd%2 != 0 || hd > maxDim/o.Heads:
		return fmt.Errorf("a head has %d elements, expected an even number from 2 to %d", hd, maxDim/o.Heads)
	case o.RotDim < 0 || o.RotDim > hd || o.RotDim%2 != 0:
		return fmt.Errorf("option RotDim is %d, expected an even number up to the head's %d", o.RotDim, hd)
	}
	for _, f := range []struct {
		name string
		n    int
	}{{"BlockHeads", len(o.BlockHeads)}, {"BlockKVHeads", len(o.BlockKVHeads)}} {
		if f.n != 0 && f.n != o.Layers {
			return fmt.Errorf("option %s has %d values, expected one for each of Layers (%d)", f.name, f.n, o.Layers)
		}
	}
	for i := range o.Layers {
		q, kv := o.heads(i)
		switch {
		case len(o.BlockHeads)+len(o.BlockKVHeads) == 0 && q%kv != 0:
			return fmt.Errorf("option KVHeads is %d, expected a divisor of Heads (%d)", kv, q)
		case q < 1 || q > maxDim/o.headDim():
			return fmt.Errorf("a block has %d query heads, expected 1 to %d", q, maxDim/o.headDim())
		case kv < 1 || q%kv != 0:
			return fmt.Errorf("a block has %d KV heads, expected a divisor of its %d query heads", kv, q)
		}
	}
	return nil
}

// largest returns the number of elements of the largest tensor. Widths are in range.
func (o Options) largest() int64 {
	rows := max(o.Vocab, 2*o.FF, o.SharedFF) // a fused ffn_up has the rows of two
	for i := range o.Layers {
		q, kv := o.heads(i)
		rows = max(rows, (q+2*kv)*o.headDim())
	}
	return int64(o.Dim) * max(int64(rows), int64(o.Experts)*int64(o.expertFF()))
}
