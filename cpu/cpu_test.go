package cpu_test

import (
	"testing"

	"cera/backend"
	"cera/backend/backendtest"
	"cera/cpu"
)

func TestConformance(t *testing.T) {
	backendtest.RunAll(t, func(*testing.T) backend.Backend { return cpu.New() })
}

func BenchmarkAll(b *testing.B) {
	backendtest.BenchAll(b, func(*testing.B) backend.Backend { return cpu.New() })
}
