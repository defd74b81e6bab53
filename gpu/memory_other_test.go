//go:build cgo && !linux

package gpu

// fillMemory needs a limit on the address space, which only Linux has.
func fillMemory() int { return 77 }

// failing needs a Vulkan layer, which is built for Linux alone.
func failing() int { return 77 }
