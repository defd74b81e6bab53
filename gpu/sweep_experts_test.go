//go:build cgo

package gpu

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"cera/backend"
	"cera/kernelbench"
	"cera/shaders"
)

// TestSweepExperts measures the product of experts by slot and in panels with tiles of several shapes on this machine's GPU, a line for each
// number of tokens, where CERA_SWEEP is set: for the choice in expertPanels. Tokens take experts by chance.
func TestSweepExperts(t *testing.T) {
	if os.Getenv("CERA_SWEEP") == "" {
		t.Skip("SKIPPED: a measurement, not a test; set CERA_SWEEP=1")
	}
	b := open(t, Options{})
	m := &kernelbench.Meter{Backend: b, MinTime: 50 * time.Millisecond, Samples: 3}
	forms := []tuning{{experts: expertsBySlot}}
	for _, tile := range []shaders.Tile{
		{Rows: 32, Cols: 64, Depth: 8}, {Rows: 32, Cols: 128, Depth: 8}, {Rows: 64, Cols: 64, Depth: 8}, {Rows: 64, Cols: 128, Depth: 8},
	} {
		forms = append(forms, tuning{experts: expertsInPanels, tile: tile})
	}
	for _, s := range []kernelbench.ExpertShape{
		{Used: 8, Experts: 128, M: 768, K: 2048},
		{Used: 8, Experts: 128, M: 2048, K: 768, Down: true},
		{Used: 2, Experts: 8, M: 14336, K: 4096},
	} {
		for _, f := range []backend.Format{backend.Q4_K, backend.Q8_0, backend.F16} {
			for _, tokens := range []int{8, 32, 64, 128, 256, 512, 1024, 2048} {
				s.Rows = tokens
				c := s.Case(f)
				w, err := c.Make(b)
				if err != nil {
					t.Fatal(err)
				}
				line := fmt.Sprintf("%s %s, %.1f slots an expert:", c.Kernel, c.Shape, float64(s.Rows*s.Used)/float64(s.Experts))
				for _, form := range forms {
					b.tune = form
					us, err := m.Measure(w.Ops)
					if err != nil {
						t.Fatal(err)
					}
					slices.Sort(us)
					name := "by slot"
					if form.tile.Rows > 0 {
						name = fmt.Sprintf("%dx%d", form.tile.Rows, form.tile.Cols)
					}
					line += fmt.Sprintf("  %s %.0f us %.1f TFLOP/s", name, us[len(us)/2], c.Flops/us[len(us)/2]/1e6)
				}
				fmt.Println(line)
				w.Free()
			}
		}
	}
	b.tune = tuning{}
}
