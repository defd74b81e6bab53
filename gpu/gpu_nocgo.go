//go:build !cgo

package gpu

import (
	"fmt"

	"cera/backend"
)

const built = false

// Backend is not available in a program built without cgo: Open never returns one.
type Backend struct{ backend.Backend }

var errNoCgo = fmt.Errorf("%w: the program was built without cgo (CGO_ENABLED=0), which the WebGPU binding needs",
	ErrNoDevice)

// Adapters returns an error: there are none without cgo.
func Adapters() ([]AdapterInfo, error) { return nil, errNoCgo }

// Open returns an error that wraps ErrNoDevice.
func Open(Options) (*Backend, error) { return nil, errNoCgo }

// Library returns nothing: a program built without cgo has none.
func Library() string { return "" }

// Memory returns nothing: there is no device.
func (*Backend) Memory() Memory { return Memory{} }

// Compiled returns nothing: there are no kernels.
func (*Backend) Compiled() int { return 0 }
