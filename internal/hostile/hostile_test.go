package hostile

import (
	"strings"
	"testing"

	"cera/gguf"
)

// Each file gets as far as its row says: those that break the format are refused by Open, and no others.
func TestStages(t *testing.T) {
	count := map[Stage]int{}
	for _, row := range Rows() {
		count[row.Stage]++
		t.Run(row.Stage.String()+"/"+row.Name, func(t *testing.T) {
			path, err := row.Make(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			f, err := gguf.Open(path)
			if err == nil {
				err = f.Close()
				if row.Stage == Format {
					t.Fatal("accepted")
				}
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if row.Stage != Format {
				t.Fatal(err)
			}
			for _, want := range row.Want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
		})
	}
	for stage := Format; stage <= Values; stage++ {
		if count[stage] == 0 {
			t.Errorf("no file of the stage %v", stage)
		}
	}
	t.Logf("files by stage: %v", count)
}
