//go:build !linux

package cpufast

// allocate returns zeroed memory.
func allocate(n int) []byte { return make([]byte, n) }
