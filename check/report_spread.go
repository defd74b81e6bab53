package check

import (
	"math"
	"slices"

	"cera/trace"
)

// worstChannels is how many channels of a site a report names.
const worstChannels = 5

// spread keeps the largest error over its bound of every token and of every channel.
type spread struct {
	tokens   []Number // [rows]
	channels []Number // [n]
}

func newSpread(m rows) *spread {
	return &spread{make([]Number, m.rows), make([]Number, m.n)}
}

func (s *spread) add(token, channel int, ratio float64) {
	s.tokens[token] = max(s.tokens[token], Number(ratio))
	s.channels[channel] = max(s.channels[channel], Number(ratio))
}

// worst lists the channels with the largest errors, without those that have none.
func (s *spread) worst(n int) []ChannelRatio {
	var list []ChannelRatio
	for c, ratio := range s.channels {
		if ratio == 0 || len(list) == n && ratio <= list[n-1].Ratio {
			continue
		}
		if len(list) == n {
			list = list[:n-1]
		}
		at, _ := slices.BinarySearchFunc(list, ratio, func(have ChannelRatio, r Number) int {
			if have.Ratio >= r { // of equals the lower channel stays first
				return -1
			}
			return 1
		})
		list = slices.Insert(list, at, ChannelRatio{c, ratio})
	}
	return list
}

// residualRMS is the root mean square of the stream after the addition, or of the input where nothing is added.
func (o *operands) residualRMS() *Number {
	stream := o.stream
	if o.Delta == "" {
		stream = o.in
	}
	var sum float64
	for _, v := range stream.data {
		sum += float64(v) * float64(v)
	}
	rms := Number(math.Sqrt(sum / float64(len(stream.data))))
	return &rms
}

// tokenDrift is the NMSE of every token's row against the reference run, nil without a fitting one. It has no bound of
// its own: a site's drift is judged over all tokens.
func (o *operands) tokenDrift(in *Input) []Number {
	if in.Reference == nil {
		return nil
	}
	ref, err := in.rows(in.Reference, o.Site, o.out.n)
	if err != nil {
		return nil
	}
	list := make([]Number, o.out.rows)
	for r := range list {
		m := trace.Measure(o.out.row(r), ref.row(r))
		list[r] = Number(ratioOf(m.Err2, m.B2))
	}
	return list
}
