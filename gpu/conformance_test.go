//go:build cgo

package gpu

import (
	"testing"

	"cera/backend"
	"cera/backend/backendtest"
)

func TestConformance(t *testing.T) {
	b := open(t, Options{})
	backendtest.RunAll(t, func(*testing.T) backend.Backend { return b })
}
