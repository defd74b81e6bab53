package tinymodel

// metadata sets the keys that llama.cpp's converter writes for a model without tokenizer.
func (b *builder) metadata() {
	o := b.o
	set := func(name string, v any) { b.out.Set(b.a.name+"."+name, v) }
	// A number whose 0 says that there is no key.
	number := func(name string, v int) {
		if v != 0 {
			set(name, uint32(v))
		}
	}
	float := func(name string, v float32) {
		if v != 0 {
			set(name, v)
		}
	}
	b.out.Set("general.architecture", b.a.name)
	b.out.Set("general.name", "cera tiny "+b.a.name)
	set("vocab_size", uint32(o.Vocab))
	set("context_length", uint32(o.Ctx))
	set("embedding_length", uint32(o.Dim))
	set("block_count", uint32(o.Layers))
	set("feed_forward_length", uint32(o.FF))
	set("attention.head_count", counts(o.Heads, o.BlockHeads))
	set("attention.head_count_kv", counts(o.KVHeads, o.BlockKVHeads))
	if b.a.layerNorm {
		set("attention.layer_norm_epsilon", o.Eps)
	} else {
		set("attention.layer_norm_rms_epsilon", o.Eps)
	}
	number("attention.key_length", o.HeadDim)
	number("attention.value_length", o.HeadDim)
	number("attention.sliding_window", o.Window)
	if len(o.Windowed) > 0 {
		set("attention.sliding_window_pattern", o.Windowed)
	}
	float("attn_logit_softcapping", o.AttnSoftcap)
	float("final_logit_softcapping", o.FinalSoftcap)
	number("expert_count", o.Experts)
	number("expert_used_count", o.ExpertsUsed)
	number("expert_feed_forward_length", o.ExpertFF)
	number("expert_shared_feed_forward_length", o.SharedFF)
	for _, k := range b.a.keys {
		set(k.name, k.value)
	}
	set("rope.freq_base", o.RopeBase)
	set("rope.dimension_count", uint32(o.rotDim()))
	if o.RopeScaling != "" {
		set("rope.scaling.type", o.RopeScaling)
	}
	float("rope.scaling.factor", o.RopeFactor)
	number("rope.scaling.original_context_length", o.OrigCtx)
	if o.NoRope {
		set("rope.scaling.finetuned", false)
	}
	b.out.Set("tokenizer.ggml.model", "no_vocab")
}

// counts is a number for all blocks, or an array of one for each.
func counts(all int, each []int) any {
	if len(each) == 0 {
		return uint32(all)
	}
	list := make([]int32, len(each))
	for i, n := range each {
		list[i] = int32(n)
	}
	return list
}
