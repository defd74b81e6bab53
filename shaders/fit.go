package shaders

import (
	"maps"
	"math/bits"
	"strconv"
)

// flexible lists the kernels that run with fewer threads than they have by default: each thread takes more elements or, of a
// kernel of stretches (row_span.tmpl), several workgroups share a stretch. The others have as many as their variant says, or
// always the same.
var flexible = map[string]struct {
	threads   int
	stretches bool
}{
	"act.wgsl":          {256, true},
	"add.wgsl":          {256, true},
	"add_bias.wgsl":     {256, true},
	"add_gated.wgsl":    {256, true},
	"argmax.wgsl":       {256, false},
	"attention.wgsl":    {128, false},
	"combine.wgsl":      {256, true},
	"embed.wgsl":        {256, false},
	"expert_bias.wgsl":  {256, true},
	"expert_sort.wgsl":  {256, false},
	"gated_act.wgsl":    {256, true},
	"matmul_sum.wgsl":   {256, true},
	"panel.wgsl":        {128, false},
	"panel_packed.wgsl": {128, false},
	"scale.wgsl":        {256, true},
	"softcap.wgsl":      {256, true},
	"store_kv.wgsl":     {256, false},
	"topk.wgsl":         {256, false},
	"unpack_half.wgsl":  {256, true},
}

// Fit returns p for a device whose workgroups have up to maxThreads threads, and how many workgroups in the grid's third
// dimension then stand for one. A program that cannot be run with so few stays as it is.
func (p Program) Fit(maxThreads int) (Program, uint32) {
	f, ok := flexible[p.File]
	if !ok || f.threads <= maxThreads || maxThreads < 1 {
		return p, 1
	}
	threads := powerOfTwo(maxThreads)
	p.Defines = maps.Clone(p.Defines)
	if p.Defines == nil {
		p.Defines = map[string]string{}
	}
	p.Defines["WG_SIZE"] = strconv.Itoa(threads) + "u"
	if f.stretches {
		return p, uint32(f.threads / threads)
	}
	return p, 1
}

// powerOfTwo returns the largest power of two up to n, for n > 0.
func powerOfTwo(n int) int { return 1 << (bits.Len(uint(n)) - 1) }
