package trace

import "math"

// Distance says how far the values of an array a are from those of a reference b. NaN in either shows in all of it.
type Distance struct {
	Err2   float64 // sum of (a-b)²
	A2, B2 float64 // sums of squares
	Dot    float64 // sum of a*b
	MaxAbs float64 // largest |a-b|; the first NaN counts as the largest and stays
	At     int     // index of it
	MaxRel float64 // largest |a-b|/|b| where b is not 0
}

// NMSE is the squared error over the square of the reference; NaN where both are 0.
func (d Distance) NMSE() float64 { return d.Err2 / d.B2 }

// Cosine is that of the angle between a and b.
func (d Distance) Cosine() float64 { return d.Dot / math.Sqrt(d.A2*d.B2) }

// Measure compares a with the reference b, which has at least as many values, one at least, in float64.
func Measure(a, b []float32) Distance {
	d := Distance{MaxAbs: -1}
	for i, v := range a {
		x, y := float64(v), float64(b[i])
		diff := math.Abs(x - y)
		d.Err2 += diff * diff
		d.A2 += x * x
		d.B2 += y * y
		d.Dot += x * y
		if diff > d.MaxAbs || math.IsNaN(diff) && !math.IsNaN(d.MaxAbs) {
			d.MaxAbs, d.At = diff, i
		}
		if rel := diff / math.Abs(y); y != 0 && !(rel <= d.MaxRel) && !math.IsNaN(d.MaxRel) {
			d.MaxRel = rel
		}
	}
	return d
}
