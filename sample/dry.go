package sample

import (
	"math"
	"strings"
)

// dry penalizes tokens that would prolong a repetition of what came before ("don't repeat yourself", by p-e-w; its
// search by pi6am).
type dry struct {
	p     *Params
	text  func(id int32) string
	known map[int32]breaker // what is known of tokens that have been accepted

	repeats []int32 // by distance from the end, the length of the repetition that ends there
	longest []int32 // by id, the longest repetition that the token would prolong
	touched []int32 // the ids that have one
}

// breaker says how a token takes part in sequence breakers.
type breaker struct {
	whole bool     // a breaker is within the token, or it is one
	rests []string // what must follow the token where a breaker begins within it
}

func newDRY(p *Params, text func(id int32) string) *dry {
	d := &dry{p: p, text: text, known: map[int32]breaker{}}
	for _, id := range p.DRYBreakerTokens {
		d.known[id] = breaker{whole: true}
	}
	return d
}

// breaker looks at a token for the first time, or remembers it.
func (d *dry) breaker(id int32) breaker {
	b, ok := d.known[id]
	if ok || len(d.p.DRYSequenceBreakers) == 0 {
		return b
	}
	text := d.text(id)
	for _, whole := range d.p.DRYSequenceBreakers {
		if strings.Contains(text, whole) {
			b = breaker{whole: true}
			break
		}
		for n := 1; n < len(whole); n++ {
			if strings.HasSuffix(text, whole[:n]) {
				b.rests = append(b.rests, whole[n:])
			}
		}
	}
	d.known[id] = b
	return b
}

// follows returns how many of the tokens, from the first on, it takes to spell rest, 0 if they do not.
func (d *dry) follows(tokens []int32, rest string) int {
	for i, id := range tokens {
		text := d.text(id)
		switch {
		case text == "":
			return 0
		case strings.HasPrefix(text, rest):
			return i + 1
		case !strings.HasPrefix(rest, text):
			return 0
		}
		rest = rest[len(text):]
	}
	return 0
}

// limit returns how many tokens there are after the last sequence breaker: no repetition is longer.
func (d *dry) limit(tokens []int32) int {
	for i := len(tokens) - 1; i >= 0; i-- {
		b := d.breaker(tokens[i])
		if b.whole {
			return len(tokens) - 1 - i
		}
		longest := 0
		for _, rest := range b.rests {
			longest = max(longest, d.follows(tokens[i+1:], rest))
		}
		if longest > 0 {
			return len(tokens) - 1 - i - longest
		}
	}
	return len(tokens)
}

// findRepeats sets repeats[k] to how many tokens before the end are the same as those before the k-th token from the
// end, at most limit: the Z function of the reversed tokens, in linear time.
func (d *dry) findRepeats(tokens []int32, limit int) {
	n := len(tokens)
	at := func(i int) int32 { return tokens[n-1-i] }
	d.repeats = append(d.repeats[:0], make([]int32, n)...)
	start, end := 0, 0 // the stretch that reaches farthest and is known to repeat the last tokens
	for k := 1; k < n; k++ {
		z := 0
		if k < end {
			z = min(int(d.repeats[k-start]), end-k)
		}
		for k+z < n && at(z) == at(k+z) {
			z++
		}
		if k+z > end {
			start, end = k, k+z
		}
		d.repeats[k] = int32(z)
	}
	for k, z := range d.repeats {
		d.repeats[k] = min(z, int32(limit))
	}
}

// maxLogFloat32 is the logarithm of the largest float32, which bounds the penalty before the multiplier.
const maxLogFloat32 = 88.7228391

// penalize lowers the logits of tokens that would prolong a repetition within the tokens.
func (d *dry) penalize(logits []float64, tokens []int32) {
	allowed := d.p.DRYAllowedLength
	if len(tokens) <= allowed {
		return
	}
	limit := d.limit(tokens)
	if limit < allowed {
		return
	}
	d.findRepeats(tokens, limit)
	if d.longest == nil {
		d.longest = make([]int32, len(logits))
	}
	// The token after a repetition would make it one longer. Lengths are kept plus one, for 0 to say that there is
	// none.
	for k := 1; k < len(tokens); k++ {
		next := tokens[len(tokens)-k]
		length := d.repeats[k]
		if int(length) < allowed || d.breaker(next).whole {
			continue
		}
		if d.longest[next] == 0 {
			d.touched = append(d.touched, next)
		}
		d.longest[next] = max(d.longest[next], length+1)
	}
	largest := math.MaxInt
	if d.p.DRYBase > 1.000001 {
		largest = int(maxLogFloat32 / log(d.p.DRYBase))
	}
	for _, id := range d.touched {
		over := min(int(d.longest[id])-1-allowed, largest)
		logits[id] -= float64(d.p.DRYMultiplier * power(d.p.DRYBase, over))
		d.longest[id] = 0
	}
	d.touched = d.touched[:0]
}
