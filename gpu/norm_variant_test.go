//go:build cgo

package gpu

import (
	"testing"

	"cera/backend"
	"cera/backend/backendtest"
	"cera/shaders"
)

// TestConformanceNorms runs the norms in every variant.
func TestConformanceNorms(t *testing.T) {
	parts := []string{"RMSNorm", "AddRMSNorm", "FusedResidualRMSNorm", "NormRows", "NormsAgree"}
	for _, v := range shaders.NormVariants() {
		t.Run(v.String(), func(t *testing.T) {
			b := open(t, Options{NormVariant: v.String()})
			backendtest.RunAll(t, func(*testing.T) backend.Backend { return b }, parts...)
		})
	}
}
