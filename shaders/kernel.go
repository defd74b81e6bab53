// Package shaders holds the WGSL kernels, each beside its parameters, and the preprocessor that turns a template
// and a set of defines into WGSL.
package shaders

import "strings"

// Variant selects one compiled form of a kernel. Variants are comparable structs, so that they key a pipeline
// cache.
type Variant interface{ Program() Program }

// Program says how to build a variant: the template, its entry point, the caller's defines, and the bindings of
// group 0 in order.
type Program struct {
	File     string
	Entry    string
	Defines  map[string]string
	Bindings []Access
}

// Access is how a kernel uses a binding.
type Access uint8

const (
	Read      Access = iota // storage, read
	ReadWrite               // storage, read_write
	Uniform
)

// Grid is a number of workgroups in each dimension.
type Grid struct{ X, Y, Z uint32 }

// MaxGridDim is WebGPU's default limit on workgroups in one dimension.
const MaxGridDim = 65535

// Fold spreads n workgroups over two dimensions where one is not enough; kernels guard the overshoot.
func Fold(n int) Grid {
	if n <= MaxGridDim {
		return Grid{uint32(n), 1, 1}
	}
	y := (n + MaxGridDim - 1) / MaxGridDim
	return Grid{uint32((n + y - 1) / y), uint32(y), 1}
}

// rowSpan is how many elements of a row one workgroup of an elementwise kernel covers: its number of threads.
const rowSpan = 256

// spanGrid returns the workgroups of an elementwise kernel over [rows, n].
func spanGrid(rows, n uint32) Grid { return Fold(int(rows) * ceilDiv(n, rowSpan)) }

// ceilDiv returns a/b rounded up, for b > 0.
func ceilDiv(a, b uint32) int { return (int(a) + int(b) - 1) / int(b) }

// formatDefine selects the block decoder of a weight format.
func formatDefine(format string) map[string]string {
	return map[string]string{"FORMAT_" + upper(format): "1"}
}

// upper spells a variant's name as the defines do.
func upper(s string) string { return strings.ToUpper(s) }
