package tokenizer

import (
	"slices"
	"sync"

	"cera/gguf"
)

// Options choose what the file does not say, or overrule it.
type Options struct {
	// Pre is the pre-tokenizer to use in place of tokenizer.ggml.pre, one of [PreTokenizers]. The "llama" kind has
	// none.
	Pre string
}

// Tokenizer holds a vocabulary. It does not change after New, and may be used by several goroutines at a time.
type Tokenizer struct {
	model  string           // tokenizer.ggml.model
	pre    *preTokenizer    // nil for the "llama" kind
	tokens []string         // by id, as in the file
	attrs  []attr           // by id
	vocab  map[string]int32 // token to id

	bos, eos, eot, eom, unk int32 // None where the file has no such token
	eog                     []int32
	addBOS, addEOS          bool
	spacePrefix             bool // a space goes before text at the start and after a special token

	matchers [2]*matcher // of tokens found in raw text, by Parse: user-defined ones, all
	words    wordEncoder // what cuts text between special tokens
	byteID   [256]int32  // the token of a byte, or None

	scratch sync.Pool // of *scratch
}

// None is the id of a token that does not exist.
const None int32 = -1

// New reads the vocabulary from f's metadata. f may be closed afterwards. Memory is in proportion to f's arrays.
func New(f *gguf.File, o Options) (*Tokenizer, error) {
	loadClasses()
	t := &Tokenizer{}
	if err := t.readKind(f, o); err != nil {
		return nil, err
	}
	if err := t.readTokens(f); err != nil {
		return nil, err
	}
	if err := t.readSpecial(f); err != nil {
		return nil, err
	}
	var err error
	if t.pre == nil {
		t.words, err = newSPM(f, t)
	} else {
		t.words, err = newBPE(f, t)
	}
	if err != nil {
		return nil, err
	}
	t.matchers = [2]*matcher{
		ParseUserDefined: newMatcher(t, func(a attr) bool { return a&userDefined != 0 && a&(control|unknown) == 0 }),
		ParseAll:         newMatcher(t, func(a attr) bool { return a&(userDefined|control|unknown) != 0 }),
	}
	t.scratch.New = func() any { return new(scratch) }
	return t, nil
}

// Model returns tokenizer.ggml.model: "llama", "gpt2" or "gemma4".
func (t *Tokenizer) Model() string { return t.model }

// Pre returns the name of the pre-tokenizer in use, empty for the "llama" kind.
func (t *Tokenizer) Pre() string {
	if t.pre == nil {
		return ""
	}
	return t.pre.name
}

// Len returns the number of tokens; ids are 0 to Len()-1.
func (t *Tokenizer) Len() int { return len(t.tokens) }

// Token returns a token as the vocabulary spells it ("Ġthe", "▁the", "<0x0A>"), empty for an id that does not exist.
// Decode gives the text that it stands for.
func (t *Tokenizer) Token(id int32) string {
	if !t.valid(id) {
		return ""
	}
	return t.tokens[id]
}

// ID returns the id of a token by the vocabulary's spelling.
func (t *Tokenizer) ID(token string) (id int32, ok bool) {
	id, ok = t.vocab[token]
	return id, ok
}

// BOS returns the id of the token that begins a text, or None.
func (t *Tokenizer) BOS() int32 { return t.bos }

// EOS returns the id of the token that ends a text, or None.
func (t *Tokenizer) EOS() int32 { return t.eos }

// EOT returns the id of the token that ends a turn, or None.
func (t *Tokenizer) EOT() int32 { return t.eot }

// AddsBOS reports whether the model wants BOS before a text; AddSpecial then adds it.
func (t *Tokenizer) AddsBOS() bool { return t.addBOS }

// AddsEOS reports whether the model wants EOS after a text; AddSpecial then adds it.
func (t *Tokenizer) AddsEOS() bool { return t.addEOS }

// IsEOG reports whether generation ends at this token: EOS, EOT, end of message, and the tokens that are known by
// their text to end a turn, as <|im_end|>.
func (t *Tokenizer) IsEOG(id int32) bool {
	_, ok := slices.BinarySearch(t.eog, id)
	return ok
}

// EOG returns the ids for which IsEOG is true, in ascending order.
func (t *Tokenizer) EOG() []int32 { return slices.Clone(t.eog) }

// IsSpecial reports whether the token is a control or unknown token, which Decode hides unless told otherwise.
func (t *Tokenizer) IsSpecial(id int32) bool {
	return t.valid(id) && t.attrs[id]&(control|unknown) != 0
}

func (t *Tokenizer) valid(id int32) bool { return id >= 0 && int(id) < len(t.tokens) }
