package engine

import (
	"cmp"
	"slices"

	"cera/backend"
	"cera/gpu"
	"cera/layers"
	"cera/weights"
)

// opRun is one run of an op: its commands and what they move and compute.
type opRun struct {
	time         float64 // microseconds
	bytes, flops float64
}

// analyze fills p from the commands that were timed.
func (e *Engine) analyze(p *Profile, t benchTest, w *walks, timings []gpu.Timing) {
	sites := map[string]layers.OpSite{}
	for _, s := range w.sites {
		sites[s.Site] = s
	}
	ops, runs, blocks := map[string]*ProfileOp{}, map[string][]opRun{}, map[int]*ProfileLayer{}
	pass, passes := -1, float64(t.passes)
	p.Commands = int(float64(len(timings))/passes + 0.5)
	for i, c := range timings {
		var steps []layers.OpSite
		layer := -1
		for _, name := range c.Sites {
			if s, ok := sites[name]; ok {
				steps, layer = append(steps, s), s.Layer
			}
		}
		name := opName(steps, c.Op)
		first := i == 0 || c.Step != timings[i-1].Step || name != p.Events[i-1].Name
		if first && slices.Contains(c.Sites, w.sites[0].Site) {
			pass++
		}
		ev := ProfileEvent{Timing: c, Name: name, Layer: layer, Pass: pass, First: first}
		if i > 0 && c.Submit == timings[i-1].Submit {
			ev.Gap = max(0, c.Begin-timings[i-1].End)
			p.Gaps += ev.Gap / 1e3 / passes
		} else if i > 0 {
			p.Between += max(0, c.Begin-timings[i-1].End) / 1e3 / passes
		}
		p.Events = append(p.Events, ev)

		op, block := ops[ev.Name], blocks[layer]
		if op == nil {
			op = &ProfileOp{Op: ev.Name}
			ops[ev.Name] = op
		}
		if block == nil {
			block = &ProfileLayer{Layer: layer}
			blocks[layer] = block
		}
		if !slices.Contains(op.Kernels, c.Kernel) {
			op.Kernels = append(op.Kernels, c.Kernel)
		}
		if first {
			bytes, flops := e.cost(steps, w.pass(pass), t.position(pass, e.main.state.UBatch()))
			runs[ev.Name] = append(runs[ev.Name], opRun{0, bytes, flops})
		}
		us := (c.End - c.Begin) / 1e3
		last := &runs[ev.Name][len(runs[ev.Name])-1]
		last.time += us
		op.Commands++
		op.Total += us
		op.Gap += ev.Gap / 1e3
		block.Commands += 1 / passes
		block.Time += us / passes
		block.Gap += ev.Gap / 1e3 / passes
		p.Busy += us / passes
	}
	for name, op := range ops {
		op.finish(runs[name], p.Busy*passes)
		p.Ops = append(p.Ops, *op)
	}
	for _, block := range blocks {
		p.Layers = append(p.Layers, *block)
	}
	slices.SortFunc(p.Ops, func(a, b ProfileOp) int {
		return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.Op, b.Op))
	})
	slices.SortFunc(p.Layers, func(a, b ProfileLayer) int { return cmp.Compare(a.Layer, b.Layer) })
}

// finish works out an op's rates.
func (op *ProfileOp) finish(runs []opRun, busy float64) {
	op.Count = len(runs)
	times := make([]float64, len(runs))
	var bytes, flops float64
	for i, r := range runs {
		times[i] = r.time
		bytes, flops = bytes+r.bytes, flops+r.flops
	}
	slices.Sort(times)
	op.Median = times[len(times)/2]
	if busy > 0 {
		op.Share = op.Total / busy
	}
	if op.Total > 0 {
		op.GBps, op.TFLOPs = bytes/op.Total/1e3, flops/op.Total/1e6
	}
}

// position returns the first position of a pass.
func (t benchTest) position(pass, ubatch int) int {
	if t.passes == t.tokens { // one by one
		return t.depth + max(0, pass)
	}
	return max(0, pass) * ubatch
}

// cost returns the bytes that ops of one dispatch or a few must move, what they hand to each other left out, and the
// operations of their products. words are the sizes of the sites, pos is the first position.
func (e *Engine) cost(ops []layers.OpSite, words map[string]int, pos int) (bytes, flops float64) {
	made, read, held := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, o := range ops {
		made[o.Site] = true
	}
	for _, o := range ops {
		out := float64(words[o.Site])
		for _, in := range o.In {
			size := 4 * float64(words[in])
			if o.Kind == layers.OpNorm && words[in] == 0 { // the stream has no step of its own
				size = 4 * out
			}
			if stored := o.Kind == layers.OpAttention && in != o.In[0]; !made[in] && !read[in] && !stored {
				bytes += size
			}
			read[in] = true
		}
		if o.Kind == layers.OpNorm && len(o.In) > 1 {
			bytes += 4 * out // the stream, written back
		}
		share := 1.0 // of the weight
		switch o.Kind {
		case layers.OpAttention:
			b, f := attentionCost(o, out, pos, e.kv)
			bytes, flops = bytes+b, flops+f
		case layers.OpMatMul, layers.OpExpertMatMul:
			if w, ok := e.file.Tensor(o.Weight); ok {
				flops += 2 * out * float64(w.N())
				if o.Kind == layers.OpExpertMatMul {
					slots := out / (float64(w.Rows()) / float64(e.model.Experts))
					share = min(1, slots/float64(e.model.Experts))
				}
			}
		case layers.OpEmbed:
			share = out / float64(e.model.Embd) / float64(e.model.Vocab)
		}
		if o.Weight != "" && !held[o.Weight] && o.Kind != layers.OpRoPE {
			held[o.Weight] = true
			bytes += share * e.heldBytes(o.Weight)
		}
	}
	for _, o := range ops {
		if !read[o.Site] { // what one hands to the next is not written
			bytes += 4 * float64(words[o.Site])
		}
	}
	return bytes, flops
}

// attentionCost is of the keys and values that out words at positions from pos on see.
func attentionCost(o layers.OpSite, out float64, pos int, kv backend.Format) (bytes, flops float64) {
	a := o.Attn
	width := a.NHead * a.HeadDim
	rows := int(out) / width
	seen, first := 0, pos
	for r := range rows {
		n := pos + r + 1
		if a.Window > 0 {
			n = min(n, a.Window)
		}
		seen, first = seen+n, min(first, pos+r+1-n)
	}
	element := kv.RowBytes(1)
	return float64(2 * (pos + rows - first) * a.NKV * a.HeadDim * element), 4 * float64(seen) * float64(width)
}

// heldBytes returns the size of a tensor of the file as the device holds it.
func (e *Engine) heldBytes(name string) float64 {
	t, ok := e.file.Tensor(name)
	if !ok {
		return 0
	}
	f, err := weights.FormatOf(t.Type)
	if err != nil || !e.be.Takes(f) {
		f = backend.F16
	}
	return float64(t.Rows()) * float64(t.N()) / float64(f.Block()) * float64(f.BlockBytes())
}
