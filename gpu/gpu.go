// Package gpu is the backend on WebGPU. It is the only package that sees the WebGPU binding.
//
// A validation error at submit aborts the process inside the binding's C library, so every operand, range and
// alignment is checked in Go before it gets there; a mistake becomes the backend's sticky error.
//
// A Backend belongs to one goroutine at a time: the binding hands C pointers to Go memory and calls back on the
// thread that polls. Several backends may be open at once, each with its own goroutine.
package gpu

import (
	"errors"
	"fmt"
	"runtime"

	"cera/backend"
)

// Every build has a Backend type that fits the interface; without cgo, Open never returns one.
var _ backend.Backend = (*Backend)(nil)

// ErrNoDevice says that there is no adapter that Open may use. It comes wrapped with what to do about it.
var ErrNoDevice = errors.New("no usable GPU adapter")

// Built says whether this build can have a GPU at all.
const Built = built

// DefaultMatVecRows is the largest number of activation rows that MatMul runs through the matrix-vector kernel, and of slots an
// expert, on average, that ExpertMatMul runs one by one.
const DefaultMatVecRows = 8

// Options selects the adapter and the limits of a device.
type Options struct {
	Adapter       int   // index into Adapters; -1 takes the best
	AllowSoftware bool  // take an adapter that runs on the processor's cores
	MaxBinding    int64 // largest part of a weight in bytes; 0 takes the device's largest binding, less splits weights sooner
	MatVecRows    int   // MatMul with more rows than this is tiled, and experts with more slots each; 0 takes DefaultMatVecRows, -1 tiles always

	// Limits are asked of the device where the adapter has more; 0 in a field: as much as the adapter has. The zero
	// value: the environment's CERA_LIMITS (see ParseLimits), or all that the adapter has.
	Limits Limits

	// Guard puts poisoned words around every tensor and looks at them whenever the device is waited for: an op that
	// wrote there is an error. For tests; the environment's CERA_GUARD does the same.
	Guard bool

	Pack Pack // which weights are packed

	// NormVariant forces a way to run the norms, such as "vec4-held-256", on every shape that it can run; see
	// shaders.NormVariants. Empty: the environment's CERA_NORM_VARIANT, or, where that is empty too, a choice by shape.
	NormVariant string

	// AttentionVariant forces the kernel of attention on every shape that it can run: "general", "split" or "tile", or
	// with numbers "split-512" (workgroups) and "tile-128-16" (keys and depth of a tile). Empty: the environment's
	// CERA_ATTENTION_VARIANT, or, where that is empty too, a choice by shape.
	AttentionVariant string

	// Kernels is a folder of WGSL templates that are used in place of those of the same name in package shaders, to
	// try a kernel without building the program. Empty: none.
	Kernels string
}

// Pack says which weights are packed: stored so that neighbouring threads of the matrix-vector kernel read neighbouring
// words.
type Pack uint8

const (
	PackAuto   Pack = iota // all, but in Q8_0 only rows that leave less than a quarter of their groups empty
	PackNever              //
	PackAlways             // all of a format that has a packing
)

// Kinds of adapter in order of preference.
const (
	TypeDiscrete   = "discrete"
	TypeIntegrated = "integrated"
	TypeVirtual    = "virtual"
	TypeUnknown    = "unknown"
	TypeSoftware   = "software"
)

// AdapterInfo describes one adapter. Index counts adapters in order of preference; 0 is what Open picks.
type AdapterInfo struct {
	Index    int    `json:"index"`
	Name     string `json:"name"`             // as the driver names it
	Vendor   string `json:"vendor"`           // the maker's name, or its id in hexadecimal
	Driver   string `json:"driver,omitempty"` // empty where the driver does not say
	API      string `json:"api"`              // "vulkan", "metal", "d3d12"
	Type     string `json:"type"`             // one of the Type constants
	Software bool   `json:"software"`         // runs on the processor's cores
	Limits   Limits `json:"limits"`
}

// noDevice wraps ErrNoDevice with what was found and what to install.
func noDevice(found string) error {
	hint := "install a driver for Vulkan (Debian: apt-get install libvulkan1 mesa-vulkan-drivers)"
	switch runtime.GOOS {
	case "darwin":
		hint = "Metal is part of macOS 10.13 and later"
	case "windows":
		hint = "install the graphics card's driver, with Direct3D 12 or Vulkan"
	}
	return fmt.Errorf("%w: %s; %s", ErrNoDevice, found, hint)
}
