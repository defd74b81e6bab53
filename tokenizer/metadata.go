package tokenizer

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"cera/gguf"
)

// The metadata keys.
const (
	keyModel       = "tokenizer.ggml.model"
	keyPre         = "tokenizer.ggml.pre"
	keyTokens      = "tokenizer.ggml.tokens"
	keyScores      = "tokenizer.ggml.scores"
	keyTypes       = "tokenizer.ggml.token_type"
	keyMerges      = "tokenizer.ggml.merges"
	keyBOS         = "tokenizer.ggml.bos_token_id"
	keyEOS         = "tokenizer.ggml.eos_token_id"
	keyEOT         = "tokenizer.ggml.eot_token_id"
	keyEOM         = "tokenizer.ggml.eom_token_id"
	keyUnknown     = "tokenizer.ggml.unknown_token_id"
	keyAddBOS      = "tokenizer.ggml.add_bos_token"
	keyAddEOS      = "tokenizer.ggml.add_eos_token"
	keySpacePrefix = "tokenizer.ggml.add_space_prefix"
)

// attr is what a token is: one bit from its type, and more from what is known of its text.
type attr uint8

const (
	normal attr = 1 << iota
	unknown
	control
	userDefined
	unused
	byteToken
	stripRight // white space after the token belongs to it
)

// attrByType maps tokenizer.ggml.token_type; type 0 is "undefined".
var attrByType = [...]attr{0, normal, unknown, control, userDefined, unused, byteToken}

// refused are the kinds of tokenizer that this package does not know, and what they are.
var refused = map[string]string{
	"no_vocab":   "the file has no vocabulary",
	"none":       "the file has no vocabulary",
	"bert":       "WordPiece (WPM) is not supported",
	"t5":         "Unigram (UGM, T5) is not supported",
	"rwkv":       "RWKV's tokenizer is not supported",
	"plamo2":     "PLaMo-2's tokenizer is not supported",
	"hybriddna":  "the DNA tokenizer is not supported",
	"whitespace": "the white space tokenizer is not supported",
}

// fail returns an error about a key.
func fail(f *gguf.File, key, format string, args ...any) error {
	file := ""
	if f.Path != "" {
		file = f.Path + ": "
	}
	return fmt.Errorf("tokenizer: %skey %q %s", file, key, fmt.Sprintf(format, args...))
}

// readKind reads which kind of tokenizer this is.
func (t *Tokenizer) readKind(f *gguf.File, o Options) error {
	var err error
	if t.model, err = f.String(keyModel); errors.Is(err, gguf.ErrMissing) {
		return fail(f, keyModel, `is missing: the file has no vocabulary; expected "llama", "gpt2" or "gemma4"`)
	} else if err != nil {
		return err
	}
	name := o.Pre
	switch t.model {
	case "llama":
		if o.Pre != "" {
			return fail(f, keyModel, `is "llama", which has no pre-tokenizer; %q was asked for`, o.Pre)
		}
		return nil
	case "gpt2":
		if name != "" {
			break
		}
		if name, err = f.String(keyPre); errors.Is(err, gguf.ErrMissing) {
			return fail(f, keyPre, "is missing: choose a pre-tokenizer, one of %s (old files were often read with "+
				"\"default\")",
				strings.Join(PreTokenizers(), ", "))
		} else if err != nil {
			return err
		}
	case "gemma4":
		if name == "" {
			name = "gemma4"
		}
	default:
		if why, ok := refused[t.model]; ok {
			return fail(f, keyModel, `is %q: %s; expected "llama", "gpt2" or "gemma4"`, t.model, why)
		}
		return fail(f, keyModel, `is %.60q, a tokenizer that is not known; expected "llama", "gpt2" or "gemma4"`,
			t.model)
	}
	if t.pre = presetByName(name); t.pre == nil {
		return fail(f, keyPre, "is %.60q, a pre-tokenizer that is not known; known are %s", name,
			strings.Join(PreTokenizers(), ", "))
	}
	return nil
}

// readTokens reads the list of tokens and their types.
func (t *Tokenizer) readTokens(f *gguf.File) error {
	tokens, err := f.Strings(keyTokens)
	if err != nil {
		return err
	}
	if len(tokens) == 0 || len(tokens) > math.MaxInt32 {
		return fail(f, keyTokens, "has %d tokens, expected 1 to %d", len(tokens), math.MaxInt32)
	}
	if err := t.checkLen(f, len(tokens)); err != nil {
		return err
	}
	types, err := f.Uints(keyTypes)
	if errors.Is(err, gguf.ErrMissing) {
		types = nil
	} else if err != nil {
		return err
	} else if len(types) != len(tokens) {
		return fail(f, keyTypes, "has %d values, expected %d, one a token of %q", len(types), len(tokens), keyTokens)
	}
	t.tokens = tokens
	t.attrs = make([]attr, len(tokens))
	t.vocab = make(map[string]int32, len(tokens))
	for i, token := range tokens {
		if other, dup := t.vocab[token]; dup && token != "" {
			return fail(f, keyTokens, "has %.60q twice, as %d and as %d", token, other, i)
		}
		if token != "" { // an empty one can be neither found nor merged
			t.vocab[token] = int32(i)
		}
		t.attrs[i] = normal
		if types != nil {
			if types[i] >= uint64(len(attrByType)) {
				return fail(f, keyTypes, "is %d for token %d, %.60q, expected 0 to %d", types[i], i, token,
					len(attrByType)-1)
			}
			t.attrs[i] = attrByType[types[i]]
		}
		if t.attrs[i]&byteToken != 0 {
			if _, ok := parseByteToken(token); !ok {
				return fail(f, keyTokens, "has %.60q as byte token %d, expected <0x00> to <0xFF>", token, i)
			}
		}
	}
	return nil
}

// checkLen compares the number of tokens with the model's vocabulary, where the file says how large that is.
func (t *Tokenizer) checkLen(f *gguf.File, n int) error {
	if embd, ok := f.Tensor("token_embd.weight"); ok {
		if embd.Rows() != n {
			return fail(f, keyTokens, "has %d tokens, expected %d, the rows of token_embd.weight", n, embd.Rows())
		}
		return nil
	}
	arch, err := f.String("general.architecture")
	if err != nil {
		return nil // without an architecture there is no size to compare with
	}
	size, err := f.Uint(arch + ".vocab_size")
	if err == nil && size != uint64(n) {
		return fail(f, keyTokens, "has %d tokens, expected %d, the value of %q", n, size, arch+".vocab_size")
	}
	if errors.Is(err, gguf.ErrMissing) {
		return nil
	}
	return err
}

// readID reads the id of a special token; fallback stands for an absent key. Converters write -1 for none.
func (t *Tokenizer) readID(f *gguf.File, key string, fallback int32) (int32, error) {
	v, kind, ok := f.Lookup(key)
	switch v := v.(type) {
	case int32:
		if v == -1 {
			return None, nil
		}
	case int64:
		if v == -1 {
			return None, nil
		}
	case uint32:
		if v == math.MaxUint32 {
			return None, nil
		}
	}
	if !ok {
		if !t.valid(fallback) {
			return None, nil
		}
		return fallback, nil
	}
	id, err := f.Uint(key)
	if err != nil {
		return None, err
	}
	if id >= uint64(len(t.tokens)) {
		return None, fail(f, key, "is %s %d, expected an id of the %d tokens", kind, id, len(t.tokens))
	}
	return int32(id), nil
}

// readBool reads a bool; fallback stands for an absent key.
func readBool(f *gguf.File, key string, fallback bool) (bool, error) {
	v, err := f.Bool(key)
	if errors.Is(err, gguf.ErrMissing) {
		return fallback, nil
	}
	return v, err
}

// readScores reads the scores of the "llama" kind.
func readScores(f *gguf.File, n int) ([]float32, error) {
	var scores []float32
	v, _, _ := f.Lookup(keyScores)
	if ints, ok := v.([]int32); ok {
		for _, x := range ints {
			scores = append(scores, float32(x))
		}
	} else {
		var err error
		if scores, err = f.Floats(keyScores); err != nil {
			return nil, err
		}
	}
	if len(scores) != n {
		return nil, fail(f, keyScores, "has %d values, expected %d, one a token of %q", len(scores), n, keyTokens)
	}
	for i, x := range scores {
		if x != x {
			return nil, fail(f, keyScores, "is NaN for token %d, expected a number", i)
		}
	}
	return scores, nil
}

// parseByteToken reads "<0x0A>".
func parseByteToken(token string) (byte, bool) {
	if len(token) != 6 || token[:3] != "<0x" || token[5] != '>' {
		return 0, false
	}
	var b byte
	for _, c := range []byte(token[3:5]) {
		switch {
		case '0' <= c && c <= '9':
			b = b<<4 | (c - '0')
		case 'A' <= c && c <= 'F':
			b = b<<4 | (c - 'A' + 10)
		case 'a' <= c && c <= 'f':
			b = b<<4 | (c - 'a' + 10)
		default:
			return 0, false
		}
	}
	return b, true
}
