package tokenizer

import (
	"math/rand/v2"
	"strings"
	"unicode/utf8"
)

// prose is a text of our own, of ordinary words.
const prose = `The kettle had been singing for some minutes before anyone thought of the tea. Outside, the rain went on in its
patient way, filling the barrels and the wheel ruts, and a cart could be heard long before it could be seen. "It's the
miller," said Anna, who'd been watching from the stairs; "he's brought 3 sacks, I'd say, or 4." Nobody answered. They'll
all remember that evening differently: to some it was the end of a long summer, to others the beginning of the year in
which prices rose by 12.5% and the bridge at last was mended. `

// randomText returns words that hardly repeat, about n bytes of them.
func randomText(n int) string {
	r := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	for b.Len() < n {
		for range 1 + r.IntN(9) {
			b.WriteByte(byte('a' + r.IntN(26)))
		}
		b.WriteString([]string{" ", " ", " ", ", ", "\n", " x", "é "}[r.IntN(7)])
	}
	return b.String()
}

// fragments are what random texts are made of: what patterns tell apart, and what is easily confused.
var fragments = []string{" ", " ", "  ", "   ", "\n", "\r\n", "\r", "\t", "\v", "\f", "\u0085", "\u00a0", "\u2028",
	"\u2003", "\u3000", "\x00", "\x1c",
	"a", "b", "hello", "World", "HELLO", "camelCase", "don't", "'s", "'S", "'re", "'LL", "'vE", "'", "''", "'ſ", "É",
	"é", "ÉA", "Aé", "Straße",
	"ǅ", "ʰ", "中文", "日本", "カタ", "한국", "Привет", "ΑΒγ", "हिन्दी", "ไทย", "e\u0301", "\u0301", "\u0300\u0301",
	"0", "1", "12", "123", "1234567", "٣", "½", "Ⅷ", "²", "３", ".", "!", "?!", ",", "-", "--", "_", "/", "\\", "(", ")",
	"[", "]", "{", "}",
	"<", ">", "==", "+", "$", "^", "`", "~", "|", "@", "#", "%", "&", "*", "\"", ":", "。", "，", "「", "…", "“", "’", "—",
	"€", "©", "±", "😀", "👨‍👩‍👧",
	"\u200b", "\ufeff", "\u00ad", "\u0378", "\ue000", "𐐀", "𞤀", "ﬀ", "\u2126", "\u212A", "龦", "ࠀ", "힣", "▁", "▁▁",
	"<s>", "</s>", "<|im_end|>", "<0x41>",
	"the", " the", "\n\n\n", "\t\t", "    ", "aaaaaaaa", "===="}

// randomFragments returns a text of 1 to n fragments, with other characters among them.
func randomFragments(r *rand.Rand, n int) string {
	var b strings.Builder
	for range 1 + r.IntN(n) {
		switch r.IntN(16) {
		case 0:
			c := rune(r.IntN(0x20000))
			if !utf8.ValidRune(c) {
				c = utf8.RuneError
			}
			b.WriteRune(c)
		case 1:
			b.WriteString(strings.Repeat(fragments[r.IntN(len(fragments))], 1+r.IntN(5)))
		default:
			b.WriteString(fragments[r.IntN(len(fragments))])
		}
	}
	return b.String()
}
