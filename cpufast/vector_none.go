//go:build !cgo || !amd64 || windows

package cpufast

// vectors returns no kernels: this build has none. On Windows that is because its C compilers do not align the stack to
// vectors.
func vectors() []vector { return nil }
