package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"cera/engine"
	"cera/gguf"
	"cera/internal/hostile"
	"cera/tinymodel"
)

// hostileCommands are what is run on hostile files: each refuses those of its stages.
var hostileCommands = []struct {
	name   string
	args   func(path string) []string
	stages []hostile.Stage
}{
	{"inspect", func(p string) []string { return []string{"inspect", p} },
		[]hostile.Stage{hostile.Format, hostile.Model}},
	{"inspect --json", func(p string) []string { return []string{"inspect", "--json", p} },
		[]hostile.Stage{hostile.Format, hostile.Model}},
	{"inspect --validate", func(p string) []string { return []string{"inspect", "--validate", p} },
		[]hostile.Stage{hostile.Format, hostile.Model, hostile.Values}},
	{"check", func(p string) []string { return []string{"check", "--device", "cpu", p} },
		[]hostile.Stage{hostile.Format, hostile.Model, hostile.Load}},
	{"check --dry-run", func(p string) []string { return []string{"check", "--device", "cpu", "--dry-run", p} },
		[]hostile.Stage{hostile.Format, hostile.Model}},
	{"generate", func(p string) []string { return []string{"generate", "--device", "cpu", "-n", "1", p} },
		[]hostile.Stage{hostile.Format, hostile.Model, hostile.Load, hostile.Vocabulary}},
	{"chat", func(p string) []string { return []string{"chat", "--device", "cpu", p} },
		[]hostile.Stage{hostile.Format, hostile.Template}},
	{"tokenize", func(p string) []string { return []string{"tokenize", p, "text"} },
		[]hostile.Stage{hostile.Format, hostile.Vocabulary}},
	{"quantize", func(p string) []string { return []string{"quantize", "--quiet", p, p + ".out", "Q8_0"} },
		[]hostile.Stage{hostile.Format}},
}

// What refusing a file may take: so many times its size, so many bytes more, and so long.
const (
	hostileTimes = 16
	hostileMore  = 4 << 20
	hostileTime  = time.Second
)

// ran is what a command did.
type ran struct {
	code           int
	stdout, stderr string
	took           time.Duration
	bytes          uint64 // allocated
}

func runMeasured(t *testing.T, args []string) ran {
	t.Helper()
	done := make(chan ran, 1)
	go func() {
		var out, errOut bytes.Buffer
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		start := time.Now()
		code := run(context.Background(), args, &out, &errOut)
		took := time.Since(start)
		runtime.ReadMemStats(&after)
		done <- ran{code, out.String(), errOut.String(), took, after.TotalAlloc - before.TotalAlloc}
	}()
	select {
	case r := <-done:
		return r
	case <-time.After(20 * time.Second):
		t.Fatalf("%q: still running after 20 s", args)
	}
	return ran{}
}

// A file that is wrong further on than a command looks is shown, with the same bounds: it may be as large.
func TestHostileShown(t *testing.T) {
	n := 0
	for _, row := range hostile.Rows() {
		switch row.Stage {
		case hostile.Load, hostile.Vocabulary, hostile.Template, hostile.Values:
		default:
			continue
		}
		n++
		t.Run(row.Stage.String()+"/"+row.Name, func(t *testing.T) {
			dir := t.TempDir()
			path, err := row.Make(dir)
			if err != nil {
				t.Fatal(err)
			}
			size := sizeOf(t, dir)
			for _, args := range [][]string{{"inspect", path}, {"inspect", "--json", path}} {
				r := runMeasured(t, args)
				if r.code != 0 {
					t.Errorf("%q: exit code %d: %s", args, r.code, r.stderr)
				}
				if limit := hostileTimes*size + hostileMore; r.bytes > limit && !watched {
					t.Errorf("%q: allocated %d bytes for a file of %d, want at most %d", args, r.bytes, size, limit)
				}
				if len(args) == 2 && len(r.stdout) > 64<<10 {
					t.Errorf("%q: prints %d bytes", args, len(r.stdout))
				}
			}
		})
	}
	t.Logf("%d files", n)
}

// What looks odd and is legal is not refused: it shows, and it runs.
func TestOddIsLegal(t *testing.T) {
	for _, c := range []struct {
		name, arch, key string
		value           any
	}{
		{"eps of 0", "llama", "attention.layer_norm_rms_epsilon", float32(0)},
		{"smallest eps", "llama", "attention.layer_norm_rms_epsilon", float32(1e-45)},
		{"window of 0, which is none", "gemma2", "attention.sliding_window", uint32(0)},
		{"window of one position", "gemma2", "attention.sliding_window", uint32(1)},
		{"window longer than the context", "gemma2", "attention.sliding_window", uint32(1 << 30)},
		{"softcap of 0, which is none", "gemma2", "attn_logit_softcapping", float32(0)},
		{"no experts", "llama", "expert_count", uint32(0)},
		{"count in another type", "llama", "block_count", int64(4)},
		{"a count for each block", "llama", "attention.head_count", []int32{4, 4, 4, 4}},
		{"rope base of 1", "llama", "rope.freq_base", float32(1)},
		{"key that nobody knows", "llama", "magic", "abracadabra"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path, err := hostile.WithKey(t.TempDir(), c.arch, c.arch+"."+c.key, c.value)
			if err != nil {
				t.Fatal(err)
			}
			for _, args := range [][]string{{"inspect", path}, {"check", "--device", "cpu", "--quiet", path}} {
				if r := runMeasured(t, args); r.code != 0 {
					t.Errorf("%q: exit code %d: %s%s", args, r.code, r.stdout, r.stderr)
				}
			}
		})
	}
}

// sizeOf adds up the files of a folder.
func sizeOf(t *testing.T, dir string) (n uint64) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			n += uint64(info.Size())
		}
	}
	return n
}

// Every hostile file is refused by every command that meets its fault: with exit code 2, a message that names the file
// and what is wrong in it, at once, and without memory out of proportion to the file.
func TestHostile(t *testing.T) {
	// What is made once in a program is not a file's doing.
	warm := filepath.Join(t.TempDir(), "warm.gguf")
	writeTiny(t, warm)
	for _, c := range hostileCommands {
		runMeasured(t, c.args(warm))
	}
	type most struct {
		runs  int
		bytes uint64
		row   string
		ratio float64 // of what is allocated beyond the constant to the size
		took  time.Duration
	}
	largest := make([]most, len(hostileCommands))
	rows := hostile.Rows()
	seen := map[string]bool{}
	for _, row := range rows {
		if seen[row.Name] {
			t.Errorf("two rows are called %q", row.Name)
		}
		seen[row.Name] = true
		t.Run(row.Stage.String()+"/"+row.Name, func(t *testing.T) {
			dir := t.TempDir()
			path, err := row.Make(dir)
			if err != nil {
				t.Fatal(err)
			}
			size := sizeOf(t, dir)
			for i, c := range hostileCommands {
				if !slices.Contains(c.stages, row.Stage) {
					continue
				}
				r := runMeasured(t, c.args(path))
				said := r.stdout + r.stderr
				if r.code != exitUsage {
					t.Errorf("%s: exit code %d, want %d; it says %.500q", c.name, r.code, exitUsage, said)
				}
				for _, want := range append(row.Want, dir) {
					if !strings.Contains(said, want) && !strings.Contains(said, jsonText(want)) {
						t.Errorf("%s: does not say %q: %.2000q", c.name, want, said)
					}
				}
				if strings.ContainsFunc(said, func(c rune) bool {
					return c < ' ' && c != '\n' && c != '\t' || c == 0x7f
				}) {
					t.Errorf("%s: sends control characters: %q", c.name, said)
				}
				if len(r.stderr) > 8<<10 {
					t.Errorf("%s: a message of %d bytes: %.500q", c.name, len(r.stderr), r.stderr)
				}
				if r.took > hostileTime {
					t.Errorf("%s: took %v", c.name, r.took)
				}
				if limit := hostileTimes*size + hostileMore; r.bytes > limit && !watched {
					t.Errorf("%s: allocated %d bytes to refuse %d, want at most %d", c.name, r.bytes, size, limit)
				}
				m := &largest[i]
				m.runs++
				m.took = max(m.took, r.took)
				if r.bytes > m.bytes {
					m.bytes, m.row = r.bytes, row.Name
				}
				if size > 0 && r.bytes > hostileMore {
					m.ratio = max(m.ratio, float64(r.bytes-hostileMore)/float64(size))
				}
			}
		})
	}
	t.Logf("%d hostile files", len(rows))
	for i, c := range hostileCommands {
		m := largest[i]
		t.Logf("%-18s refused %3d; largest allocation %9d bytes (%s), beyond %d at most %.1f times the file; longest %v",
			c.name, m.runs, m.bytes, m.row, hostileMore, m.ratio, m.took.Round(time.Millisecond))
	}
}

// jsonText is text as it stands in a JSON string.
func jsonText(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return s
	}
	return string(b[1 : len(b)-1])
}

func writeTiny(t *testing.T, path string) {
	t.Helper()
	var buf bytes.Buffer
	if _, err := tinymodel.Write(&buf, tinymodel.Default()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, buf.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A file that shrinks while its weights are loaded is a bad file, not a device that fails.
func TestShrinkingModel(t *testing.T) {
	for _, device := range []string{"cpu", "gpu"} {
		t.Run(device, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "model.gguf")
			writeTiny(t, path)
			f, err := gguf.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			loaded := ""
			_, err = engine.Load(f, engine.Options{Device: device, Progress: func(name string, _, _ int64) {
				if loaded == "" {
					loaded = name
					if err := os.Truncate(path, 1<<12); err != nil {
						t.Error(err)
					}
				}
			}})
			if device == "gpu" && loaded == "" && os.Getenv("CERA_REQUIRE_GPU") == "" {
				t.Skipf("SKIPPED on the GPU: %v", err)
			}
			if err == nil || loaded == "" {
				t.Fatalf("loaded %q, error %v", loaded, err)
			}
			for _, want := range []string{path, "tensor", gguf.ErrChanged.Error()} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
			if fmt.Sprintf("%T", err) == fmt.Sprintf("%T", &engine.DeviceError{}) {
				t.Errorf("error %q is of the device", err)
			}
		})
	}
}
