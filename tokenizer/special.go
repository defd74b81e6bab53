package tokenizer

import (
	"slices"
	"strings"

	"cera/gguf"
)

// Texts by which special tokens are known where the file has no key for them. Facts of the models' vocabularies, as
// llama.cpp collects them; the first that a vocabulary has counts.
var (
	textsEOT = []string{"<|eot_id|>", "<|im_end|>", "<|end|>", "<end_of_turn>", "<|endoftext|>", "<|end_of_text|>",
		"<EOT>",
		"_<EOT>", "[EOT]", "<｜end▁of▁sentence｜>", "<end_of_utterance>"}
	textsEOM = []string{"<|eom_id|>"}
	textsEOG = append([]string{"<|return|>", "<|call|>", "<|flush|>", "<|calls|>", "</s>", "<|eom_id|>", "[EOS]",
		"<eos>",
		"<turn|>", "<|tool_response>", "[e~["}, textsEOT...)
	// Tokens of the gpt-oss format that are part of the text.
	textsShown = []string{"<|channel|>", "<|message|>", "<|start|>", "<|constrain|>"}
)

// fillIns are the tokens of fill-in-the-middle prompts: a key and an older one, known texts, and whether the token ends
// generation.
var fillIns = []struct {
	keys  []string
	texts []string
	ends  bool
}{
	{[]string{"fim_pre", "prefix"}, []string{"<|fim_prefix|>", "<fim-prefix>", "<fim_prefix>", "<｜fim▁begin｜>", "<PRE>",
		"▁<PRE>",
		"<|code_prefix|>", "<|prefix|>"}, false},
	{[]string{"fim_suf", "suffix"}, []string{"<|fim_suffix|>", "<fim-suffix>", "<fim_suffix>", "<｜fim▁hole｜>", "<SUF>",
		"▁<SUF>",
		"<|code_suffix|>", "<|suffix|>"}, false},
	{[]string{"fim_mid", "middle"}, []string{"<|fim_middle|>", "<fim-middle>", "<fim_middle>", "<｜fim▁end｜>", "<MID>",
		"▁<MID>",
		"<|code_middle|>", "<|middle|>"}, false},
	{[]string{"fim_pad"}, []string{"<|fim_pad|>", "<fim-pad>", "<fim_pad>", "<PAD>", "[PAD]"}, true},
	{[]string{"fim_rep"}, []string{"<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<REPO>", "<reponame>"}, true},
	{[]string{"fim_sep"}, []string{"<|file_sep|>"}, true},
}

// readSpecial reads the ids of special tokens and what is added to a text, and finds the tokens that end generation.
func (t *Tokenizer) readSpecial(f *gguf.File) error {
	bos, eos, unk := None, None, None
	if t.model == "llama" {
		bos, eos, unk = 1, 2, 0
	}
	t.eot, t.eom = None, None
	for _, s := range []struct {
		key      string
		id       *int32
		fallback int32
		texts    []string
	}{
		{keyBOS, &t.bos, bos, nil}, {keyEOS, &t.eos, eos, nil}, {keyUnknown, &t.unk, unk, nil},
		{keyEOT, &t.eot, None, textsEOT}, {keyEOM, &t.eom, None, textsEOM},
	} {
		var err error
		if *s.id, err = t.readID(f, s.key, s.fallback); err != nil {
			return err
		}
		if *s.id == None {
			*s.id = t.findControl(s.texts)
		}
	}
	eog := map[int32]bool{t.eos: true, t.eot: true, t.eom: true}
	for _, fill := range fillIns {
		id := None
		for _, key := range fill.keys {
			v, err := t.readID(f, "tokenizer.ggml."+key+"_token_id", id)
			if err != nil {
				return err
			}
			id = v
		}
		if id == None {
			id = t.findControl(fill.texts)
		}
		if fill.ends {
			eog[id] = true
		}
	}
	t.setEOG(eog)
	if name, err := f.String("general.name"); err == nil {
		t.setStrip(strings.ToLower(name))
	}
	return t.readAdded(f)
}

// findControl returns the first token of texts that the vocabulary has, which is then a control token whatever its type
// says.
func (t *Tokenizer) findControl(texts []string) int32 {
	for _, text := range texts {
		if id, ok := t.vocab[text]; ok {
			t.attrs[id] |= control
			return id
		}
	}
	return None
}

// setEOG completes the tokens that end generation by their texts.
func (t *Tokenizer) setEOG(eog map[int32]bool) {
	has := func(text string) bool { _, ok := t.vocab[text]; return ok }
	for _, text := range textsEOG {
		if id, ok := t.vocab[text]; ok {
			eog[id] = true
			t.attrs[id] |= control
		}
	}
	for _, text := range textsShown {
		if id, ok := t.vocab[text]; ok {
			t.attrs[id] = userDefined
		}
	}
	// In formats with calls, <|end|> ends a message of several; in gemma4's, </s> is ordinary text.
	call := has("<|call|>") || has("<|calls|>")
	if end, ok := t.vocab["<|end|>"]; ok && call && (has("<|return|>") || has("<|flush|>")) {
		delete(eog, end)
		t.attrs[end] = userDefined
	}
	if s, ok := t.vocab["</s>"]; ok && has("<|tool_response>") {
		delete(eog, s)
		t.attrs[s] = normal
	}
	delete(eog, None)
	for id := range eog {
		t.eog = append(t.eog, id)
	}
	slices.Sort(t.eog)
}

// setStrip marks the tokens that take the white space after them. No key says which: phi-3's do, known by the model's
// name in lower case.
func (t *Tokenizer) setStrip(name string) {
	if !strings.Contains(name, "phi-3") && !strings.Contains(name, "phi3") {
		return
	}
	for i, a := range t.attrs {
		switch t.tokens[i] {
		case "<unk>", "<s>", "<|endoftext|>":
		default:
			if a&(control|userDefined|unknown) != 0 {
				t.attrs[i] |= stripRight
			}
		}
	}
}

// readAdded reads what AddSpecial and the space prefix add.
func (t *Tokenizer) readAdded(f *gguf.File) error {
	spm := t.model == "llama"
	var err error
	if t.addBOS, err = readBool(f, keyAddBOS, spm || t.pre.addBOS); err != nil {
		return err
	}
	if t.addEOS, err = readBool(f, keyAddEOS, false); err != nil {
		return err
	}
	if !spm && t.pre.forceBOS {
		t.addBOS = true // files say false by a converter's mistake
	}
	if spm {
		if t.spacePrefix, err = readBool(f, keySpacePrefix, true); err != nil {
			return err
		}
	}
	for _, added := range []struct {
		add         bool
		id          int32
		addKey, key string
	}{{t.addBOS, t.bos, keyAddBOS, keyBOS}, {t.addEOS, t.eos, keyAddEOS, keyEOS}} {
		if added.add && added.id == None {
			return fail(f, added.key, "is missing, expected an id: %q is true, or so by default for this tokenizer",
				added.addKey)
		}
	}
	return nil
}
