package check

import (
	"math"

	"cera/backend"
)

// The one table of tolerances; docs/numerics.md derives each.
const (
	unit = 0x1p-24  // relative error of one float32 operation, rounded to nearest
	tiny = 0x1p-126 // the smallest normal float32: a GPU may flush what is below to zero

	normSlack   = 16      // operations of a norm beside the long sum, in units
	layerSlack  = 18      // the same of a layer norm
	groupSize   = 256     // threads that share a row's sum
	dotSlack    = 4       // roundings of an inner product beside its own, in units
	driftPerOp  = 256     // relative error of one block, in units
	driftHalfKV = 0x1p-10 // relative error of a block whose keys and values are rounded to halves
	expUnits    = 16      // exp, division and products of an activation or a weight, in units
	expPerInput = 4       // growth of exp's error with its argument, in units
	geluUnits   = 8       // roundings of the argument of GELU's exp, in units
	swigluUnits = 2       // roundings of the argument of the clamped SwiGLU's exp, in units
	expVanishes = 104     // exp(-x) is below the smallest float32 from here on
	tanhUnits   = 32      // division, tanh and product of a softcap, in units
	softmaxUnit = 40      // exp, subtraction and rescaling of a softmax, in units, and again for each unit of score
	softmaxSums = 4       // roundings of a softmax for each position: two sums, two rescalings
	largeV      = 16      // |V| up to which flushed weights are accounted for
)

// NormBound bounds |got - want| of one element of a norm over n elements, where want is its value and gain is
// |weight| * max(1, 1/rms(row)).
func NormBound(n int, want, gain float64) float64 {
	return (float64(n)/groupSize+normSlack)*unit*math.Abs(want) + 2*math.Sqrt(float64(n))*tiny*(1+gain)
}

// LayerNormBound bounds the error of one element of a layer norm over n elements, want = normed + bias with
// normed = (x - mean)*inv*w and inv = 1 / sqrt(variance + eps). meanAbs is the mean of |x|.
func LayerNormBound(n int, meanAbs, inv, w, normed, want float64) float64 {
	relative := (float64(n)/groupSize + layerSlack) * unit
	gain := inv * math.Abs(w)
	// What the mean is off by, whether it is summed once, or again over the differences to a first mean: their mean
	// size is at most 1/inv and at most 2*meanAbs.
	shift := relative * math.Max(meanAbs, math.Min(1/inv, 2*meanAbs))
	bound := shift*gain + math.Abs(normed)*math.Min(1, shift*inv*shift*inv/2) + relative*(math.Abs(normed)+shift*gain)
	if want != normed {
		bound += RoundingBound(want)
	}
	return bound + 10*math.Sqrt(float64(n))*tiny*(1+math.Abs(w)*math.Max(1, inv))
}

// RoundingBound bounds the error of one float32 operation whose exact value is v.
func RoundingBound(v float64) float64 { return unit*math.Abs(v) + tiny }

// DotBound bounds the error of a float32 inner product of k terms, in any order of summation, with abs the sum of the
// terms' magnitudes.
func DotBound(k int, abs float64) float64 {
	return float64(k+dotSlack)*unit*abs + float64(2*k)*tiny
}

// ActivationBound returns act(x) in float64 and the bound of its error, of an activation of one operand.
func ActivationBound(act backend.Activation, x float64) (value, bound float64) {
	return GatedBound(act, x, 1)
}

// GatedBound returns act(gate) * up in float64, or what the activation does instead, and the bound of its error. Both
// are NaN for an activation that is not known here.
func GatedBound(act backend.Activation, gate, up float64) (value, bound float64) {
	arg, perInput := gate, 0.0 // sigmoid's argument, and its rounding errors in units
	switch act {
	case backend.SiLU:
	case backend.GELUTanh:
		arg, perInput = 2*math.Sqrt(2/math.Pi)*(gate+0.044715*gate*gate*gate), geluUnits
	case backend.ClampedSwiGLU:
		gate = math.Min(gate, backend.SwiGLULimit)
		up = math.Max(-backend.SwiGLULimit, math.Min(up, backend.SwiGLULimit)) + 1
		arg, perInput = backend.SwiGLUAlpha*gate, swigluUnits
	default:
		return math.NaN(), math.NaN()
	}
	value = gate / (1 + math.Exp(-arg)) * up
	return value, sigmoidUnits(arg, perInput) * (unit*math.Abs(value) + tiny*(1+math.Abs(up)))
}

// sigmoidUnits is the relative error of a product with 1 / (1 + exp(-arg)), in units. perInput is that of arg.
func sigmoidUnits(arg, perInput float64) float64 {
	// The part of exp's error that reaches the result: all for arg << 0, none for arg >> 0.
	share := 1 / (1 + math.Exp(arg))
	return expUnits + (expPerInput+perInput)*math.Min(math.Abs(arg), expVanishes)*share
}

// AddGatedBound returns dst + x / (1 + exp(-gate)) in float64 and the bound of its error.
func AddGatedBound(dst, x, gate float64) (value, bound float64) {
	p := x / (1 + math.Exp(-gate))
	value = dst + p
	return value, sigmoidUnits(gate, 0)*(unit*math.Abs(p)+tiny*(1+math.Abs(x))) + RoundingBound(value)
}

// SoftcapBound returns limit * tanh(x / limit) in float64 and the bound of its error.
func SoftcapBound(x, limit float64) (value, bound float64) {
	value = limit * math.Tanh(x/limit)
	return value, tanhUnits*unit*math.Abs(value) + tiny*(1+limit)
}

// AttendBound bounds the error of one element of softmax(scores)·V over a number of positions, those in the window.
// size is the largest sum of magnitudes behind a score, before the softcap; sink is the head's, 0 without sinks; abs is
// the weighted mean of |V|.
func AttendBound(p backend.Attention, positions int, size, sink, abs float64) float64 {
	score := DotBound(p.HeadDim, size)
	if p.Softcap > 0 {
		size = math.Min(size, float64(p.Softcap))
		score += tanhUnits*unit*size + tiny*(1+float64(p.Softcap))
	}
	// The largest argument of exp that matters is 2*reach.
	reach := math.Max(size, math.Min((size+math.Abs(sink))/2, expVanishes/2))
	sums := (softmaxUnit*(1+reach) + softmaxSums*float64(positions+1)) * unit
	return (2*score+sums)*abs + largeV*float64(positions)*tiny
}

// RouteBound bounds the error of the weight that a router gives to an expert, where want is its value and gap is the
// largest of the row's logits less the expert's.
func RouteBound(p backend.Router, experts int, gap, want float64) float64 {
	const perInput = expPerInput + 1 // exp's argument is a rounded difference
	// The relative error of a sum of n exponentials of which the largest is 1.
	sum := func(n int) float64 { return float64(n) + expUnits + perInput*math.Log(float64(n)) }
	units := expUnits + perInput*math.Min(gap, expVanishes)
	switch {
	case p.Normalize:
		units += sum(p.Used) + expUnits
	case p.Kind == backend.TopKSoftmax:
		units += sum(p.Used)
	default:
		units += sum(experts)
	}
	return units*unit*math.Abs(want) + float64(experts)*tiny
}

// DrawBound is how far, in probability, float32 moves the border between two of k elements of a draw, if the smallest
// value is gap below the largest in terms of the exponent.
func DrawBound(k int, gap float64) float64 {
	perInput := float64(expPerInput + 1)
	return 2 * (expUnits + perInput*math.Min(gap, expVanishes) + float64(k)) * unit
}

// DriftBound is the largest NMSE against the reference run after a number of blocks, if the blocks' relative errors
// add up at worst.
func DriftBound(blocks int) float64 { return driftBound(blocks, backend.F32) }

// driftBound is DriftBound of runs with a KV cache of F32 or F16. Where it holds halves, two runs that differ in a last
// bit round to other halves, in each block independently of the others.
func driftBound(blocks int, kv backend.Format) float64 {
	e := float64(blocks+1) * driftPerOp * unit
	if kv == backend.F16 {
		e += math.Sqrt(float64(blocks)) * driftHalfKV
	}
	return e * e
}

// pathsBound is the largest NMSE between two float32 runs of one model after a number of blocks: each is as far from
// the exact values as drift allows, and the two distances add up at worst.
func pathsBound(blocks int, kv backend.Format) float64 { return 4 * driftBound(blocks, kv) }
