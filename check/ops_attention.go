package check

import (
	"fmt"
	"math"

	"cera/backend"
	"cera/layers"
)

func (in *Input) rope(op layers.OpSite, x, out rows) (expectation, error) {
	return in.ropeAt(op, x, out, func(r int) float64 { return float64(r) })
}

// ropeAt is rope with row r at a position of its own.
func (in *Input) ropeAt(op layers.OpSite, x, out rows, position func(r int) float64) (expectation, error) {
	c := op.Rope
	if c.HeadDim < 1 || x.n%c.HeadDim != 0 || c.RotDim > c.HeadDim {
		return nil, fmt.Errorf("rope: rows of %d are no heads of %d", x.n, c.HeadDim)
	}
	if err := needWidth(x.n, "rope", out); err != nil {
		return nil, err
	}
	var factors []float32
	if op.Weight != "" {
		var err error
		if factors, err = in.FileWeights(op.Weight); err != nil {
			return nil, err
		}
		if len(factors) != c.RotDim/2 {
			return nil, fmt.Errorf("%s has %d elements, expected %d", op.Weight, len(factors), c.RotDim/2)
		}
	}
	theta, gain := op.Turn.Frequencies(c.RotDim, factors), float64(op.Turn.Gain)
	return func(r, i int) (float64, float64) {
		row, j := x.row(r), i%c.HeadDim
		if j >= c.RotDim {
			return float64(row[i]), 0
		}
		// The pair of element j, and where its two elements stand in the head.
		pair, one, two := j/2, j&^1, j|1
		if c.Style == backend.RopeNeoX {
			pair = j % (c.RotDim / 2)
			one, two = pair, pair+c.RotDim/2
		}
		// The device holds the angles' sine and cosine in float32: one rounding more on either product.
		sin, cos := math.Sincos(position(r) * theta[pair])
		sin, cos = gain*sin, gain*cos
		first, second := float64(row[i-j+one]), float64(row[i-j+two])
		v, abs := first*cos-second*sin, math.Abs(first*cos)+math.Abs(second*sin)
		if j == two {
			v, abs = first*sin+second*cos, math.Abs(first*sin)+math.Abs(second*cos)
		}
		return v, DotBound(2, abs) + unit*abs
	}, nil
}

func (in *Input) attention(op layers.OpSite, x []rows, out rows) (expectation, error) {
	return in.attend(op, x, out, sight{})
}

// sight says how attention is other than it must be; the zero value is right.
type sight struct {
	ahead int  // positions after its own that a token sees; -1: not even its own
	tiled bool // query head h reads key/value head h % NKV
}

// attend is attention by what a token sees.
func (in *Input) attend(op layers.OpSite, x []rows, out rows, how sight) (expectation, error) {
	c := op.Attn
	q, k, v := x[0], x[1], x[2]
	if err := needWidth(c.NHead*c.HeadDim, "attention: queries and output", q, out); err != nil {
		return nil, err
	}
	if err := needWidth(c.NKV*c.HeadDim, "attention: keys and values", k, v); err != nil {
		return nil, err
	}
	var sinks []float32
	if op.Weight != "" {
		var err error
		if sinks, err = in.FileWeights(op.Weight); err != nil {
			return nil, err
		}
		if len(sinks) != c.NHead {
			return nil, fmt.Errorf("%s has %d elements, expected %d", op.Weight, len(sinks), c.NHead)
		}
	}
	// The scores of one row and head serve every element of the head.
	h := headScores{Attention: c, q: q, k: k, row: -1, ahead: how.ahead}
	return func(r, i int) (float64, float64) {
		head := i / c.HeadDim
		kv := head / (c.NHead / c.NKV)
		if how.tiled {
			kv = head % c.NKV
		}
		at := kv * c.HeadDim
		var sink float64
		if sinks != nil {
			sink = float64(sinks[head])
		}
		if r != h.row || head != h.head {
			h.fill(r, head, at, sink, sinks != nil)
		}
		var value, abs float64
		for j, w := range h.weights {
			p := w * float64(v.row(h.first + j)[at+i%c.HeadDim])
			value += p
			abs += math.Abs(p)
		}
		return value, AttendBound(c, len(h.weights), h.size, sink, abs)
	}, nil
}

// headScores are the weights of the positions that one token's head sees.
type headScores struct {
	backend.Attention
	q, k      rows
	row, head int
	ahead     int       // see sight
	first     int       // position
	weights   []float64 // of positions first, first+1, ...
	size      float64   // the largest sum of magnitudes behind a score
}

func (h *headScores) fill(r, head, at int, sink float64, hasSink bool) {
	h.row, h.head, h.size, h.first, h.weights = r, head, 0, 0, h.weights[:0]
	if h.Window > 0 {
		h.first = max(0, r-h.Window+1)
	}
	top := math.Inf(-1)
	if hasSink {
		top = sink
	}
	for j := h.first; j <= min(r+h.ahead, h.k.rows-1); j++ {
		var s, abs float64
		for d := range h.HeadDim {
			p := float64(h.q.row(r)[head*h.HeadDim+d]) * float64(h.k.row(j)[at+d]) * float64(h.Scale)
			s += p
			abs += math.Abs(p)
		}
		if h.Softcap > 0 {
			s = float64(h.Softcap) * math.Tanh(s/float64(h.Softcap))
		}
		h.weights = append(h.weights, s)
		top, h.size = math.Max(top, s), math.Max(h.size, abs)
	}
	var sum float64
	if hasSink {
		sum = math.Exp(sink - top)
	}
	for j, s := range h.weights {
		h.weights[j] = math.Exp(s - top)
		sum += h.weights[j]
	}
	for j := range h.weights {
		h.weights[j] /= sum
	}
}
