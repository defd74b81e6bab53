package check

import "math"

// The one table of tolerances; docs/numerics.md derives each.
const (
	unit = 0x1p-24  // relative error of one float32 operation, rounded to nearest
	tiny = 0x1p-126 // the smallest normal float32: a GPU may flush what is below to zero

	normSlack   = 16  // operations of a norm beside the long sum, in units
	groupSize   = 256 // threads that share a row's sum
	dotSlack    = 4   // roundings of an inner product beside its own, in units
	driftPerOp  = 256 // relative error of one block, in units
	expUnits    = 16  // exp, division and products of an activation, in units
	expPerInput = 4   // growth of exp's error with its argument, in units
	expVanishes = 104 // exp(-x) is below the smallest float32 from here on
	softmaxUnit = 40  // exp, subtraction and rescaling of a softmax, in units, and again for each unit of score
	softmaxSums = 4   // roundings of a softmax for each position: two sums, two rescalings
	largeV      = 16  // |V| up to which flushed weights are accounted for
)

// NormBound bounds |got - want| of one element of a norm over n elements, where want is its value and gain is
// |weight| * max(1, 1/rms(row)).
func NormBound(n int, want, gain float64) float64 {
	return (float64(n)/groupSize+normSlack)*unit*math.Abs(want) + 2*math.Sqrt(float64(n))*tiny*(1+gain)
}

// RoundingBound bounds the error of one float32 operation whose exact value is v.
func RoundingBound(v float64) float64 { return unit*math.Abs(v) + tiny }

// DotBound bounds the error of a float32 inner product of k terms, in any order of summation, with abs the sum of the
// terms' magnitudes.
func DotBound(k int, abs float64) float64 {
	return float64(k+dotSlack)*unit*abs + float64(2*k)*tiny
}

// ActBound bounds the error of SiLU(g) * up, where want is its value, for |up| up to expPerInput where exp(-|g|) vanishes.
func ActBound(g, want float64) float64 {
	// The part of exp's error that reaches the result: all for g << 0, none for g >> 0.
	share := 1 / (1 + math.Exp(g))
	units := expUnits + expPerInput*math.Min(math.Abs(g), expVanishes)*share
	return units * (unit*math.Abs(want) + tiny)
}

// AttentionBound bounds the error of one element of softmax(scores)·V over a number of positions. size is the largest
// sum of magnitudes behind a score, abs the weighted mean of |V|.
func AttentionBound(headDim, positions int, size, abs float64) float64 {
	scores := 2 * DotBound(headDim, size)
	sums := (softmaxUnit*(1+size) + softmaxSums*float64(positions)) * unit
	return (scores+sums)*abs + largeV*float64(positions)*tiny
}

// DriftBound is the largest NMSE against the reference run after a number of blocks, if the blocks' relative errors
// add up at worst.
func DriftBound(blocks int) float64 {
	e := float64(blocks+1) * driftPerOp * unit
	return e * e
}

// PathsBound is the largest NMSE between two float32 runs of one model after a number of blocks: each is as far from
// the exact values as DriftBound allows, and the two distances add up at worst.
func PathsBound(blocks int) float64 { return 4 * DriftBound(blocks) }
