package sample

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
)

// A second, slow sampler, straight from the definitions: whole sorts, the standard library's functions, maps.

type token struct {
	id    int
	logit float64
	p     float64
}

// soften sets the probabilities, by logit / t.
func soften(list []token, t float64) []token {
	largest, sum := math.Inf(-1), 0.0
	for _, x := range list {
		largest = math.Max(largest, x.logit)
	}
	for i := range list {
		list[i].p = math.Exp((list[i].logit - largest) / t)
		sum += list[i].p
	}
	for i := range list {
		list[i].p /= sum
	}
	return list
}

func byProbability(list []token) []token {
	list = soften(slices.Clone(list), 1)
	sort.SliceStable(list, func(i, j int) bool {
		return list[i].logit > list[j].logit || list[i].logit == list[j].logit && list[i].id < list[j].id
	})
	return list
}

func slowTopK(list []token, k int) []token {
	list = byProbability(list)
	if k > 0 && k < len(list) {
		list = list[:k]
	}
	return list
}

func slowTopP(list []token, p float64, minKeep int) []token {
	if p == 0 || p == 1 {
		return list
	}
	list = byProbability(list)
	for n := 1; n <= len(list); n++ {
		sum := 0.0
		for _, x := range list[:n] {
			sum += x.p
		}
		if sum >= p && n >= minKeep {
			return list[:n]
		}
	}
	return list
}

func slowMinP(list []token, p float64, minKeep int) []token {
	if p == 0 {
		return list
	}
	list = byProbability(list)
	n := 0
	for n < len(list) && (list[n].p >= p*list[0].p || n < minKeep) {
		n++
	}
	return list[:n]
}

func slowTypical(list []token, p float64, minKeep int) []token {
	if p == 0 || p == 1 {
		return list
	}
	list = byProbability(list)
	entropy := 0.0
	for _, x := range list {
		if x.p > 0 {
			entropy -= x.p * math.Log(x.p)
		}
	}
	far := func(x token) float64 { return math.Abs(-math.Log(x.p) - entropy) }
	sort.SliceStable(list, func(i, j int) bool { return far(list[i]) < far(list[j]) })
	sum := 0.0
	for i, x := range list {
		if sum += x.p; sum > p && i+1 >= minKeep {
			return list[:i+1]
		}
	}
	return list
}

func slowSigma(list []token, n float64) []token {
	if n == 0 {
		return list
	}
	mean, variance, largest := 0.0, 0.0, math.Inf(-1)
	for _, x := range list {
		mean += x.logit / float64(len(list))
		largest = math.Max(largest, x.logit)
	}
	for _, x := range list {
		variance += (x.logit - mean) * (x.logit - mean) / float64(len(list))
	}
	return slices.DeleteFunc(slices.Clone(list), func(x token) bool { return x.logit < largest-n*math.Sqrt(variance) })
}

func slowXTC(list []token, threshold float64, minKeep int) []token {
	list = byProbability(list)
	above := 0
	for _, x := range list {
		if x.p >= threshold {
			above++
		}
	}
	if above < 2 || len(list)-(above-1) < minKeep {
		return list
	}
	return list[above-1:]
}

// slowPenalties applies the three penalties to all logits.
func slowPenalties(p Params, list []token, history []int32) {
	window := history
	if p.RepeatLastN >= 0 {
		window = history[max(0, len(history)-p.RepeatLastN):]
	}
	count := map[int]int{}
	for _, id := range window {
		count[int(id)]++
	}
	for i, x := range list {
		if n := count[x.id]; n > 0 {
			if p.RepeatPenalty != 0 && x.logit > 0 {
				x.logit /= p.RepeatPenalty
			} else if p.RepeatPenalty != 0 {
				x.logit *= p.RepeatPenalty
			}
			list[i].logit = x.logit - (float64(n)*p.FrequencyPenalty + p.PresencePenalty)
		}
	}
}

// slowDRY looks at every earlier place for every token, and finds breakers in the text of what follows each token.
func slowDRY(p Params, list []token, history []int32, texts []string) {
	if p.DRYMultiplier == 0 || p.DRYPenaltyLastN == 0 {
		return
	}
	if p.DRYPenaltyLastN > 0 {
		history = history[max(0, len(history)-p.DRYPenaltyLastN):]
	}
	if len(history) <= p.DRYAllowedLength {
		return
	}
	single := func(id int32) bool {
		return slices.Contains(p.DRYBreakerTokens, id) ||
			slices.ContainsFunc(p.DRYSequenceBreakers, func(b string) bool { return strings.Contains(texts[id], b) })
	}
	limit := len(history)
	for i := len(history) - 1; i >= 0 && limit == len(history); i-- {
		if single(history[i]) {
			limit = len(history) - 1 - i
			break
		}
		// The last token up to which a breaker reaches that begins in token i.
		text := texts[history[i]]
		start := len(text)
		for j := i + 1; j < len(history) && texts[history[j]] != "" && start > 0 && len(text) < start+maxBreaker; j++ {
			before := len(text)
			text += texts[history[j]]
			for _, b := range p.DRYSequenceBreakers {
				for from := range start {
					if strings.HasPrefix(text[from:], b) && from+len(b) > before {
						limit = min(limit, len(history)-1-j)
					}
				}
			}
		}
	}
	if limit < p.DRYAllowedLength {
		return
	}
	for i, x := range list {
		if single(int32(x.id)) {
			continue
		}
		longest := -1
		for j := 1; j < len(history); j++ {
			if int(history[j]) != x.id {
				continue
			}
			n := 0
			for n < j && history[j-1-n] == history[len(history)-1-n] {
				n++
			}
			longest = max(longest, min(n, limit))
		}
		if longest >= p.DRYAllowedLength && longest >= 0 {
			list[i].logit -= p.DRYMultiplier * math.Pow(p.DRYBase, float64(longest-p.DRYAllowedLength))
		}
	}
}

// slowCandidates runs everything before the draw. xtc gives XTC's random numbers.
func slowCandidates(p Params, logits []float32, history []int32, texts []string, allowed func(int) bool,
	xtc *rand.PCG) []token {
	var list []token
	for id, l := range logits {
		list = append(list, token{id: id, logit: float64(l) + float64(p.LogitBias[int32(id)])})
	}
	if p.Mirostat == 0 {
		slowPenalties(p, list, history)
		slowDRY(p, list, history, texts)
	}
	list = slices.DeleteFunc(list, func(x token) bool { return math.IsInf(x.logit, -1) || !allowed(x.id) })
	if p.Mirostat != 0 || len(list) == 0 {
		return list
	}
	list = slowSigma(list, p.TopNSigma)
	list = slowTopK(list, p.TopK)
	list = slowTypical(list, p.TypicalP, p.MinKeep)
	list = slowTopP(list, p.TopP, p.MinKeep)
	list = slowMinP(list, p.MinP, p.MinKeep)
	if p.XTCProbability > 0 && p.XTCThreshold <= 0.5 && len(list) > 1 &&
		float64(xtc.Uint64()>>11)/(1<<53) < p.XTCProbability {
		list = slowXTC(list, p.XTCThreshold, p.MinKeep)
	}
	return list
}
