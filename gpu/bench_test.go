//go:build cgo

package gpu

import (
	"testing"

	"cera/backend"
	"cera/backend/backendtest"
)

func BenchmarkAll(b *testing.B) {
	be, err := Open(Options{Adapter: -1, AllowSoftware: true})
	if err != nil {
		b.Skipf("SKIPPED: %v", err)
	}
	defer be.Close()
	b.Logf("%+v", be.Info())
	backendtest.BenchAll(b, func(*testing.B) backend.Backend { return be })
}
