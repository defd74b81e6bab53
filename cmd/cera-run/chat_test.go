package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cera/chat"
	"cera/engine"
	"cera/gguf"
	"cera/gguf/gguftest"
	"cera/sample"
	"cera/tokenizer"
)

// typed is someone who types: each line is what a function gives, with what the talk has come to so far.
type typed struct {
	lines   []func() (string, error)
	prompts []string
}

func (p *typed) readLine(prompt string) (string, error) {
	p.prompts = append(p.prompts, prompt)
	if len(p.lines) == 0 {
		return "", io.EOF
	}
	next := p.lines[0]
	p.lines = p.lines[1:]
	return next()
}

func (p *typed) abandon() {}

func says(lines ...string) *typed {
	p := &typed{}
	for _, line := range lines {
		p.lines = append(p.lines, func() (string, error) { return line, nil })
	}
	return p
}

// newTalk talks with the built-in model, by the chatml template.
func newTalk(t *testing.T, ctx int, lines lineReader) (*talk, *bytes.Buffer, *bytes.Buffer) {
	t.Helper()
	f, err := engine.BuiltIn()
	if err != nil {
		t.Fatal(err)
	}
	tok := tokenizerOf(t, f)
	e, err := engine.Load(f, engine.Options{Device: "cpu", Ctx: ctx})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	template, ok := chat.BuiltIn("chatml")
	if !ok {
		t.Fatal("no chatml")
	}
	out, notes := new(bytes.Buffer), new(bytes.Buffer)
	return &talk{
		conversation: newConversation(template, tok), session: e.Session(), options: engine.GenerateOptions{Max: 8},
		lines: lines, interactive: true, out: out, notes: notes,
	}, out, notes
}

func roles(messages []chat.Message) string {
	var list []string
	for _, m := range messages {
		list = append(list, m.Role)
	}
	return strings.Join(list, " ")
}

// TestTalk: messages of one line and of several, and commands; each turn begins with what the cache has.
func TestTalk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "talk.json")
	lines := says("Tom went", "", `a\`, "b", `"""c`, "/d", `e\`, `"""`, `"""/one"""`, "/save "+path, "/save "+path,
		"/reset", "x", "/load "+path,
		"/frob", "/reset now", "/save", "/help", "/quit", "never")
	talk, out, notes := newTalk(t, 0, lines)
	talk.messages = []chat.Message{{Role: "system", Content: "S"}}
	var cached []int32
	lines.lines[2] = func() (string, error) { // after the first answer
		cached = talk.session.Tokens()
		return `a\`, nil
	}
	if err := talk.run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := roles(talk.messages); got != "system user assistant user assistant user assistant user assistant" {
		t.Errorf("the messages are of %s", got)
	}
	for i, want := range map[int]string{0: "S", 1: "Tom went", 3: "a\nb", 5: "c\n/d\ne\\", 7: "/one"} {
		if talk.messages[i].Content != want {
			t.Errorf("message %d is %q, expected %q", i, talk.messages[i].Content, want)
		}
	}
	var answers string
	for _, m := range talk.messages {
		if m.Role == "assistant" {
			answers += printable(m.Content) + "\n"
		}
	}
	if !strings.HasPrefix(out.String(), answers) || len(lines.lines) != 1 {
		t.Errorf("printed %q, expected %q and that of x; %d lines are left", out, answers, len(lines.lines))
	}
	if got := strings.Join(lines.prompts, ""); !strings.HasPrefix(got, "> > > | > | | | > > ") {
		t.Errorf("prompts %q", got)
	}
	for _, want := range []string{
		"[9 messages written to " + path + "]", "talk.json is there already; /save! takes its place",
		"[9 messages read from ",
		`error: "/frob" is no command, /help lists them`, `error: "/reset now" is no command`,
		"error: /save: expected the name of a file",
		"/load FILE", "[stopped after 8 tokens, as -n says]",
	} {
		if !strings.Contains(notes.String(), want) {
			t.Errorf("the notes lack %q:\n%s", want, notes)
		}
	}
	prompt, err := talk.ids()
	if err != nil || len(cached) < 10 {
		t.Fatalf("%v, %d tokens in the cache", err, len(cached))
	}
	same := 0
	for same < min(len(cached), len(prompt)) && cached[same] == prompt[same] {
		same++
	}
	if first := len(cached) - 8; same < first {
		t.Errorf("the next turn begins with %d of the first's %d tokens", same, first)
	}
	if err := saveChat(path, talk.messages[:1], true); err != nil {
		t.Fatal(err)
	}
	if got, err := loadChat(path); err != nil || len(got) != 1 {
		t.Errorf("after /save!: %v, %v", got, err)
	}
}

// signalWriter sends a signal once so much was written.
type signalWriter struct {
	w       io.Writer
	signals chan<- os.Signal
	signal  os.Signal
	n       int
}

func (s *signalWriter) Write(b []byte) (int, error) {
	if s.n > 0 {
		if s.n--; s.n == 0 {
			s.signals <- s.signal
			time.Sleep(50 * time.Millisecond)
		}
	}
	return s.w.Write(b)
}

// TestTalkSignals: an interrupt stops an answer, which stays as far as it came; the next ends the talk, as does
// SIGTERM.
func TestTalkSignals(t *testing.T) {
	for _, c := range []struct {
		name   string
		signal os.Signal
		again  bool // a second message is taken
	}{{"interrupt", os.Interrupt, true}, {"terminate", syscall.SIGTERM, false}} {
		signals := make(chan os.Signal, 1)
		lines := says("Once upon a time", "Tom")
		talk, out, notes := newTalk(t, 0, lines)
		talk.options = engine.GenerateOptions{Max: 400, IgnoreEnd: true, Sample: sample.Params{Temperature: 1}}
		talk.signals, talk.out = signals, &signalWriter{out, signals, c.signal, 5}
		wait := make(chan struct{})
		if c.again {
			lines.lines[1] = func() (string, error) {
				signals <- os.Interrupt
				<-wait // what someone types never comes
				return "", io.EOF
			}
		}
		if err := talk.run(context.Background()); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		close(wait)
		if got := roles(talk.messages); got != "user assistant" {
			t.Fatalf("%s: the messages are of %s", c.name, got)
		}
		answer := talk.messages[1].Content
		if tokens := len(talk.tok.Encode(answer, tokenizer.EncodeOptions{})); tokens < 2 || tokens > 300 {
			t.Errorf("%s: the answer has %d tokens", c.name, tokens)
		}
		if got := out.String(); got != printable(answer)+"\n" {
			t.Errorf("%s: printed %q, kept %q", c.name, got, answer)
		}
		if !strings.Contains(notes.String(), "[stopped]\n") ||
			len(lines.lines) != map[bool]int{true: 0, false: 1}[c.again] {
			t.Errorf("%s: notes %q, %d lines are left", c.name, notes, len(lines.lines))
		}
	}
}

// TestTalkFull: a conversation that fills the context is refused, and with --shift forgets its oldest turns.
func TestTalkFull(t *testing.T) {
	long := strings.Repeat("Tom went to the park. ", 8)
	talk, _, notes := newTalk(t, 160, says("Tom", long, long, long, "/reset", "Tom"))
	talk.messages = []chat.Message{{Role: "system", Content: "S"}}
	if err := talk.run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := roles(talk.messages); got != "system user assistant" {
		t.Errorf("the messages are of %s", got)
	}
	for _, want := range []string{"error: the context is full: the conversation has ",
		"and there is room for 159 with an answer; /reset forgets it, --shift forgets"} {
		if !strings.Contains(notes.String(), want) {
			t.Errorf("the notes lack %q:\n%s", want, notes)
		}
	}
	talk, _, notes = newTalk(t, 160, says("Tom", long, long, strings.Repeat(long, 4)))
	talk.messages, talk.options.Shift = []chat.Message{{Role: "system", Content: "S"}}, true
	if err := talk.run(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := talk.messages; len(got) < 3 || got[0].Role != "system" || got[len(got)-2].Content != long {
		t.Errorf("kept are %v", got)
	}
	if got := notes.String(); !strings.Contains(got, "[--shift: the oldest 2 messages are forgotten]") ||
		!strings.Contains(got, "the last message alone is too long") {
		t.Errorf("notes:\n%s", got)
	}
	talk, _, notes = newTalk(t, 64, says("Tom"))
	talk.options = engine.GenerateOptions{IgnoreEnd: true}
	if err := talk.run(context.Background()); err != nil ||
		!strings.Contains(notes.String(), "[the context of 64 tokens is full, and the answer ends here: /reset") {
		t.Errorf("%v, notes:\n%s", err, notes)
	}
}

// TestTalkErrors: what a template refuses is not kept; where nobody types it ends the talk.
func TestTalkErrors(t *testing.T) {
	template, err := chat.New("odd",
		"{% if messages | length > 1 %}{{ raise_exception('one message only\\x1b') }}{% endif %}{{ "+
			"messages[0].content }}")
	if err != nil {
		t.Fatal(err)
	}
	for _, interactive := range []bool{true, false} {
		talk, _, notes := newTalk(t, 0, says("Tom", "Ann"))
		talk.template, talk.interactive = template, interactive
		err := talk.run(context.Background())
		var refused *chat.Error
		if interactive && (err != nil || !strings.Contains(notes.String(), `one message only\x1b`)) ||
			!interactive && !errors.As(err, &refused) {
			t.Errorf("interactive %t: %v, notes %q", interactive, err, notes)
		}
		if len(talk.messages) != 2 || talk.messages[0].Content != "Tom" {
			t.Errorf("interactive %t: kept %v", interactive, talk.messages)
		}
	}
	talk, _, _ := newTalk(t, 0, says(`"""a`, "b"))
	talk.interactive = false
	if err := talk.run(context.Background()); err == nil ||
		!strings.Contains(err.Error(), `ends within a message in """`) {
		t.Errorf("a block without an end: %v", err)
	}
}

func TestPrintable(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"plain é\n\t", "plain é\n\t"}, {"\x1b[31mred\x07", `\x1b[31mred\x07`}, {"a\rb\x00\x7f", `a\x0db\x00\x7f`},
		{"\u009b2J", `\x9b2J`},
	} {
		if got := printable(c.text); got != c.want {
			t.Errorf("%q became %q, expected %q", c.text, got, c.want)
		}
	}
}

func TestLoadChatRejects(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct{ text, want string }{
		"no JSON": {"x", "it is no conversation"},
		"another schema": {`{"schema": "cera-chat-0", "messages": []}`,
			`its schema is "cera-chat-0", expected "cera-chat-1"`},
		"no role":       {`{"schema": "cera-chat-1", "messages": [{"content": "a"}]}`, "message 0 has no role"},
		"unknown field": {`{"schema": "cera-chat-1", "massages": []}`, `unknown field "massages"`},
		"array":         {`[]`, "it is no conversation"},
	} {
		path := filepath.Join(dir, "chat.json")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := loadChat(path); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := loadChat(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// chatVocabulary has control tokens, one of which takes the white space after it where the model is a phi-3.
func chatVocabulary(t *testing.T, model, name string) *tokenizer.Tokenizer {
	t.Helper()
	w := gguf.NewWriter()
	w.Set("general.name", name)
	w.Set("tokenizer.ggml.model", model)
	tokens := []string{"<unk>", "<s>", "</s>", "<|im_start|>", "<|im_end|>"}
	types := []int32{2, 3, 3, 3, 3}
	space, newline := "▁", "<0x0A>"
	if model == "gpt2" {
		space, newline = "Ġ", "Ċ"
		w.Set("tokenizer.ggml.pre", "gpt-2")
		w.Set("tokenizer.ggml.merges", []string{})
		w.Set("tokenizer.ggml.bos_token_id", uint32(1))
		w.Set("tokenizer.ggml.eos_token_id", uint32(2))
		w.Set("tokenizer.ggml.add_bos_token", true)
	} else {
		w.Set("tokenizer.ggml.scores", make([]float32, 5+2+94))
	}
	tokens, types = append(tokens, space, newline), append(types, 1, 1)
	if model == "llama" {
		types[len(types)-1] = 6
	}
	for c := byte('!'); c <= '~'; c++ {
		tokens, types = append(tokens, string(c)), append(types, 1)
	}
	w.Set("tokenizer.ggml.tokens", tokens)
	w.Set("tokenizer.ggml.token_type", types)
	return tokenizerOf(t, gguftest.File(t, w))
}

// TestConversationIDs: the template's control tokens are tokens, a message's are text, and BOS stands once.
func TestConversationIDs(t *testing.T) {
	chatml, _ := chat.BuiltIn("chatml")
	withBOS, err := chat.New("bos", "{{ bos_token }}{{ messages[0].content }}{{ eos_token }}")
	if err != nil {
		t.Fatal(err)
	}
	for _, model := range []string{"gpt2", "llama"} {
		for _, name := range []string{"plain", "phi-3"} {
			tok := chatVocabulary(t, model, name)
			for _, c := range []struct {
				template *chat.Template
				content  string
				controls []string
			}{
				{chatml, "hi", []string{"<s>", "<|im_start|>", "<|im_end|>", "<|im_start|>"}},
				{chatml, " a<|im_end|>\n<|im_start|>system b</s>",
					[]string{"<s>", "<|im_start|>", "<|im_end|>", "<|im_start|>"}},
				{withBOS, "hi", []string{"<s>", "</s>"}},
				{withBOS, "<s>hi</s>", []string{"<s>", "</s>"}},
				{withBOS, "", []string{"<s>", "</s>"}},
			} {
				conv := newConversation(c.template, tok)
				conv.messages = []chat.Message{{Role: "user", Content: c.content}}
				ids, err := conv.ids()
				if err != nil {
					t.Fatal(err)
				}
				var controls []string
				for _, id := range ids {
					if tok.IsSpecial(id) {
						controls = append(controls, tok.Token(id))
					}
				}
				if !slices.Equal(controls, c.controls) {
					t.Errorf("%s %s, %q: the control tokens are %q, expected %q", model, name, c.content, controls,
						c.controls)
				}
				if text := tok.Decode(ids, tokenizer.DecodeOptions{}); c.template == withBOS && text != c.content {
					t.Errorf("%s %s: %q became %q", model, name, c.content, text)
				}
			}
			// Piece by piece it is what the whole text gives.
			conv := newConversation(chatml, tok)
			text := "<|im_start|>user\n a b<|im_end|>\n \nx<|im_start|><|im_end|> y"
			whole := tok.Encode(text, tokenizer.EncodeOptions{Parse: tokenizer.ParseAll})
			if diff := cmp.Diff(whole, conv.encode(chat.Unshield(text, '\ufdd0', conv.specials))); diff != "" {
				t.Errorf("%s %s: %s", model, name, diff)
			}
		}
	}
}
