package check

import "math"

// The one table of tolerances; docs/numerics.md derives each.
const (
	unit = 0x1p-24  // relative error of one correctly rounded float32 operation
	tiny = 0x1p-126 // the smallest normal float32: a GPU may flush what is below to zero

	normSlack   = 16  // operations of a norm beside the long sum, in units
	groupSize   = 256 // threads that share a row's sum
	driftPerOp  = 256 // relative error of one block's branch, in units
	expUnits    = 16  // exp, division and product of an activation, in units
	expPerInput = 4   // growth of exp's error with its argument, in units
)

// NormBound bounds |got - want| of one element of a norm over n elements, where want is its value and gain is
// |weight| / rms(row).
func NormBound(n int, want, gain float64) float64 {
	return (float64(n)/groupSize+normSlack)*unit*math.Abs(want) + tiny*(1+gain)
}

// RoundingBound bounds the error of adding two float32 numbers to the value v.
func RoundingBound(v float64) float64 { return unit*math.Abs(v) + tiny }

// DotBound bounds the error of a float32 inner product of k terms, in any order of summation, with abs the sum of the
// terms' magnitudes.
func DotBound(k int, abs float64) float64 { return float64(k+4)*unit*abs + float64(k)*tiny }

// ActBound bounds the error of act(g) * up, where want is its value.
func ActBound(g, want float64) float64 {
	return (expUnits + expPerInput*math.Abs(g)) * (unit*math.Abs(want) + tiny)
}

// AttentionBound bounds the error of one element of softmax(scores)·V over a number of positions. size is the largest
// sum of magnitudes behind a score, abs the weighted mean of |V|.
func AttentionBound(headDim, positions int, size, abs float64) float64 {
	score := DotBound(headDim, size)
	weight := 2*score + (expUnits+expPerInput*2*size)*unit
	return (2*weight+float64(positions+expUnits)*unit)*abs + tiny
}

// DriftBound is the largest NMSE against the reference run after a number of blocks: the blocks' relative errors add up
// at worst.
func DriftBound(blocks int) float64 {
	e := float64(blocks+1) * driftPerOp * unit
	return e * e
}
