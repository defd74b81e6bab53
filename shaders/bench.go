package shaders

// Kernels that measure what a device can do at most, beside which those of the ops are put.

// BenchPass moves memory and does nothing else.
type BenchPass struct{}

// Program implements Variant.
func (BenchPass) Program() Program {
	return Program{
		File: "bench_pass.wgsl", Entry: "bench_pass",
		Bindings: []Access{ReadWrite, ReadWrite, Read, Uniform}, // src, dst, residual, params
	}
}

// BenchPassParams: four floats a thread.
type BenchPassParams struct {
	Fours uint32
	Pad0  uint32
	Pad1  uint32
	Pad2  uint32
}

// Grid returns the workgroups: 256 fours each.
func (p BenchPassParams) Grid() Grid { return Fold(ceilDiv(p.Fours, 256)) }

// BenchFMA multiplies and adds and does nothing else.
type BenchFMA struct{}

// BenchFMAFlops is the number of operations of one thread in one loop: a multiplication and an addition each are two.
const BenchFMAFlops = 2 * 64

// Program implements Variant.
func (BenchFMA) Program() Program {
	return Program{
		File: "bench_fma.wgsl", Entry: "bench_fma",
		Bindings: []Access{Read, ReadWrite, Uniform}, // x, dst, params
	}
}

// BenchFMAParams: a float of x and dst for each of Count threads.
type BenchFMAParams struct {
	Count uint32
	Loops uint32
	Pad0  uint32
	Pad1  uint32
}

// Grid returns the workgroups: 256 threads each.
func (p BenchFMAParams) Grid() Grid { return Fold(ceilDiv(p.Count, 256)) }
