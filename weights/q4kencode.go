package weights

// Encoding Q4_K: for every run of 32 elements the scale and the minimum with the smallest squared error are searched for,
// then rounded to the six bits that the block has for them, to where the error is smallest after that rounding.

// fit4 is a scale and a minimum of a run: value = scale*q - low, neither of them negative.
type fit4 struct{ scale, low float64 }

func encodeQ4_K(dst []byte, src []float32) {
	for len(src) >= 256 {
		in, b := src[:256], dst[:q4kBytes]
		clear(b)
		var runs [8]fit4
		var most fit4
		for j := range runs {
			runs[j] = searchFit4(in[32*j:][:32])
			most.scale, most.low = max(most.scale, runs[j].scale), max(most.low, runs[j].low)
		}
		unit := fit4{storeHalf(b, most.scale/63), storeHalf(b[2:], most.low/63)}
		for j, run := range runs {
			x := in[32*j:][:32]
			scale, low := roundFit4(x, run, unit)
			putScaleMin(b[4:16], j, scale, low)
			f := fit4{unit.scale * float64(scale), unit.low * float64(low)}
			inverse, shift := f.inverse(), j%2*4
			for i, v := range x {
				b[16+j/2*32+i] |= byte(f.level(v, inverse)) << shift
			}
		}
		src, dst = src[256:], dst[q4kBytes:]
	}
}

// inverse returns 1/scale, 0 where all levels are the same.
func (f fit4) inverse() float64 {
	if f.scale == 0 {
		return 0
	}
	return 1 / f.scale
}

// level returns the level nearest to v.
func (f fit4) level(v float32, inverse float64) int {
	// The conversion rounds towards zero, so that adding a half rounds what is positive to the nearest.
	q := int(min((float64(v)+f.low)*inverse+0.5, 15.5))
	if q < 0 {
		return 0
	}
	return q
}

// loss returns the squared error of x.
func (f fit4) loss(x []float32) float64 {
	var sum float64
	inverse := f.inverse()
	for _, v := range x {
		e := float64(v) + f.low - f.scale*float64(f.level(v, inverse))
		sum += e * e
	}
	return sum
}

// refit returns the scale and the minimum with the smallest squared error for the levels that f gives, and that error: the
// line of least squares, through zero if its minimum would be negative.
func (f fit4) refit(x []float32) (fit4, float64) {
	var q1, q2, v1, v2, qv float64
	inverse := f.inverse()
	for _, v := range x {
		q, v := float64(f.level(v, inverse)), float64(v)
		q1 += q
		q2 += q * q
		v1 += v
		v2 += v * v
		qv += q * v
	}
	n := float64(len(x))
	var fit fit4
	if q2 > 0 {
		fit.scale = max(qv/q2, 0)
	}
	if det := n*q2 - q1*q1; det > 0 {
		scale := (n*qv - q1*v1) / det
		if low := (scale*q1 - v1) / n; scale >= 0 && low >= 0 {
			fit = fit4{scale, low}
		}
	}
	s, l := fit.scale, fit.low
	return fit, v2 + n*l*l + s*s*q2 + 2*(l*v1-s*qv-s*l*q1)
}

// searchFit4 tries steps around a fifteenth of the range, and improves each by least squares as long as that helps. A range
// that lies above zero begins at zero, since a minimum is never negative.
func searchFit4(x []float32) fit4 {
	lo, hi := extent(x)
	lo = min(lo, 0)
	best := fit4{max(hi-lo, 0) / 15, -lo}
	if best.scale == 0 {
		return best
	}
	loss := best.loss(x)
	for steps := 13.5; steps <= 17; steps += 0.25 {
		f := fit4{(hi - lo) / steps, -lo}
		for range 2 {
			fit, l := f.refit(x)
			if l < loss {
				best, loss = fit, l
			}
			f = fit
		}
	}
	return best
}

// roundFit4 returns the multiples of unit near f with the smallest squared error.
func roundFit4(x []float32, f, unit fit4) (scale, low byte) {
	s0, l0 := level(f.scale, unit.scale, 0, 63), level(f.low, unit.low, 0, 63)
	first := true
	var loss float64
	for s := max(s0-1, 0); s <= min(s0+1, 63); s++ {
		for l := max(l0-1, 0); l <= min(l0+1, 63); l++ {
			try := fit4{unit.scale * float64(s), unit.low * float64(l)}
			if e := try.loss(x); first || e < loss {
				scale, low, loss, first = byte(s), byte(l), e, false
			}
		}
	}
	return scale, low
}
