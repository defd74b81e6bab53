//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cera/chat"
)

// writers are the commands that write a file, here OUT.
var writers = map[string]struct {
	args  []string
	stdin string
}{
	"dump":     {args: []string{"dump", "--device", "cpu", "--out", "OUT"}},
	"report":   {args: []string{"check", "--device", "cpu", "--quiet", "--report", "OUT"}},
	"quantize": {args: []string{"quantize", "--quiet", "--force", "MODEL", "OUT", "Q8_0"}},
	"random":   {args: []string{"random", "1B", "Q8_0", "OUT"}},
	"save":     {args: []string{"chat", "--device", "cpu", "--template", "chatml"}, stdin: "/load TALK\n/save! OUT\n"},
	"merge": {args: []string{"merge", "REPORT", "REPORT", "REPORT", "REPORT", "REPORT", "REPORT", "REPORT", "REPORT",
		"REPORT", "REPORT", "REPORT", "REPORT", "--json", "-o", "OUT"}},
}

// outputFixture has what the commands read.
type outputFixture struct{ model, report, talk string }

func newOutputFixture(t *testing.T) outputFixture {
	t.Helper()
	model, err := filepath.Abs("../../testdata/archs/llama.gguf")
	if err != nil {
		t.Fatal(err)
	}
	var out, errOut writer
	if code := run(t.Context(), []string{"check", "--device", "cpu", "--json", "--no-drift"}, &out,
		&errOut); code != 0 {
		t.Fatal(errOut.text)
	}
	report := filepath.Join(t.TempDir(), "report.json")
	if err := os.WriteFile(report, []byte(out.text), 0o666); err != nil {
		t.Fatal(err)
	}
	talk := filepath.Join(filepath.Dir(report), "talk.json")
	if err := saveChat(talk, []chat.Message{{Role: "user", Content: strings.Repeat("Tom ", 4000)}}, false); err != nil {
		t.Fatal(err)
	}
	return outputFixture{model, report, talk}
}

func (f outputFixture) program(t *testing.T, name, out string) *program {
	t.Helper()
	w := writers[name]
	fill := strings.NewReplacer("OUT", out, "MODEL", f.model, "REPORT", f.report, "TALK", f.talk)
	args := slices.Clone(w.args)
	for i := range args {
		args[i] = fill.Replace(args[i])
	}
	p := newProgram(t, args...)
	p.Stdin = strings.NewReader(fill.Replace(w.stdin))
	return p
}

// refused runs a command that cannot write what it has to, and looks at what it says.
func refused(t *testing.T, p *program, words ...string) {
	t.Helper()
	p.Run() //nolint:errcheck // the exit code tells
	said := p.stderr.String()
	if code := p.ProcessState.ExitCode(); code != exitUsage {
		t.Errorf("it ended with %v, expected exit code %d\n%s", p.ProcessState, exitUsage, said)
	}
	if last := strings.TrimSpace(said[strings.LastIndex(strings.TrimSpace(said), "\n")+1:]); !strings.HasPrefix(last,
		"cera-run: ") {
		t.Errorf("the last line is %q", last)
	}
	for _, w := range append(words, "cera-run: ") {
		if !strings.Contains(said, w) {
			t.Errorf("it does not say %q:\n%.600s", w, said)
		}
	}
	if strings.Contains(said, "goroutine ") || strings.Contains(said, "panic") {
		t.Errorf("it crashed:\n%.600s", said)
	}
}

// only fails unless a folder holds exactly these names.
func only(t *testing.T, dir string, names ...string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range list {
		got = append(got, e.Name())
	}
	if !slices.Equal(got, names) {
		t.Errorf("in the folder is %v, expected %v", got, names)
	}
}

// TestNoRoom: where there is no room for a file the command says so by its name, nothing half written stays, and what
// was there before is as it was.
func TestNoRoom(t *testing.T) {
	f := newOutputFixture(t)
	const before = "what was there before"
	for name := range writers {
		for _, c := range []struct {
			place string
			said  string
			out   func(t *testing.T) (dir, out string) // the folder must be left with nothing but "out", or empty
			limit bool
		}{
			{place: "limit of the file's size", said: "file too large", limit: true,
				out: func(t *testing.T) (string, string) {
					dir := t.TempDir()
					return dir, filepath.Join(dir, "out")
				}},
			{place: "full disk", said: "no space left on device", out: func(t *testing.T) (string, string) {
				dir := smallDisk(t, "size=8k")
				return dir, filepath.Join(dir, "out")
			}},
			{place: "read-only disk", said: "read-only file system", out: func(t *testing.T) (string, string) {
				dir := smallDisk(t, "size=8k,ro")
				return dir, filepath.Join(dir, "out")
			}},
			{place: "full device", said: "no space left on device", out: func(t *testing.T) (string, string) {
				if _, err := os.Stat("/dev/full"); err != nil {
					t.Skipf("SKIPPED: %v", err)
				}
				return t.TempDir(), "/dev/full"
			}},
			{place: "path under a file", said: "not a directory", out: func(t *testing.T) (string, string) {
				return t.TempDir(), filepath.Join(f.report, "out")
			}},
			{place: "missing folder", said: "no such file or directory", out: func(t *testing.T) (string, string) {
				dir := t.TempDir()
				return dir, filepath.Join(dir, "missing", "out")
			}},
			{place: "folder", said: "is a folder",
				out: func(t *testing.T) (string, string) { return t.TempDir(), t.TempDir() }},
		} {
			if name == "random" && (c.place == "full device" || c.place == "folder") {
				continue // it replaces nothing that is there
			}
			t.Run(name+"/"+c.place, func(t *testing.T) {
				dir, out := c.out(t)
				var names []string
				if inside := filepath.Dir(out) == dir; inside && name != "random" &&
					os.WriteFile(out, []byte(before), 0o666) == nil {
					names = []string{"out"}
				}
				p := f.program(t, name, out)
				if c.limit {
					limited(p, 4)
				}
				refused(t, p, c.said, out)
				only(t, dir, names...)
				if len(names) > 0 {
					if b, err := os.ReadFile(out); err != nil || string(b) != before {
						t.Errorf("in place of what was there: %.50q, %v", b, err)
					}
				}
				if left := p.left(t); len(left) > 0 {
					t.Errorf("it left %v", left)
				}
			})
		}
	}
}

// TestUnwritable: a file that cannot be written is found before anything is loaded. The commands are given a model, or
// a report, that is not there: they must complain about the output.
func TestUnwritable(t *testing.T) {
	f := newOutputFixture(t)
	commands := map[string][]string{
		"report":        {"check", "--report", "OUT", "NONE"},
		"report, root":  {"--report", "OUT", "NONE"},
		"report, ops":   {"check", "--ops", "all", "--report", "OUT", "NONE"},
		"report, paths": {"check", "--paths", "--report", "OUT", "NONE"},
		"report, trace": {"check", "--trace", "NONE", "--weights", "NONE", "--report", "OUT"},
		"dump":          {"dump", "--out", "OUT", "NONE"},
		"profile":       {"bench", "--profile", "OUT", "NONE"},
		"merge":         {"merge", "-o", "OUT", "NONE"},
		"quantize":      {"quantize", "NONE", "OUT", "Q8_0"},
	}
	for place, c := range map[string]struct {
		said string
		out  func(t *testing.T) string
	}{
		"missing folder": {"no such file or directory",
			func(t *testing.T) string { return filepath.Join(t.TempDir(), "missing", "out") }},
		"under a file": {"not a directory", func(*testing.T) string { return filepath.Join(f.report, "out") }},
		"a folder":     {"is a folder", func(t *testing.T) string { return t.TempDir() }},
		"read-only disk": {"read-only file system",
			func(t *testing.T) string { return filepath.Join(smallDisk(t, "ro"), "out") }},
		"no name": {"the name of the file is empty", func(*testing.T) string { return "" }},
		"a model": {"is a model, which would be lost", func(*testing.T) string { return f.model }},
	} {
		for name, command := range commands {
			if name == "quantize" && place == "a model" {
				continue // it has a flag to replace one
			}
			t.Run(name+"/"+place, func(t *testing.T) {
				out, args := c.out(t), slices.Clone(command)
				for i := range args {
					args[i] = strings.NewReplacer("OUT", out, "NONE", "not-there.gguf").Replace(args[i])
				}
				var stdout, stderr writer
				code := run(t.Context(), args, &stdout, &stderr)
				if code != exitUsage || stdout.text != "" {
					t.Errorf("exit code %d, printed %q", code, stdout.text)
				}
				if !strings.Contains(stderr.text, c.said) || !strings.Contains(stderr.text, out) ||
					strings.Contains(stderr.text, "not-there") {
					t.Errorf("it says %q, expected %q and %q", stderr.text, out, c.said)
				}
			})
		}
	}
	if b, err := os.ReadFile(f.model); err != nil || !strings.HasPrefix(string(b), "GGUF") {
		t.Errorf("the model: %.8q, %v", b, err)
	}
}

// limited makes files of more than so many KiB impossible.
func limited(p *program, kib int) {
	shell := exec.Command("sh", append([]string{"-c", `ulimit -f "$0" && exec "$@"`, strconv.Itoa(2 * kib), p.Path},
		p.Args[1:]...)...)
	shell.Dir, shell.Env, shell.Stdin, shell.Stdout, shell.Stderr = p.Dir, p.Env, p.Stdin, p.Stdout, p.Stderr
	p.Cmd = shell
}

// printers are commands that print.
var printers = map[string][]string{
	"check":      {"check", "--device", "cpu"},
	"check json": {"check", "--device", "cpu", "--json"},
	"paths":      {"check", "--device", "cpu", "--paths"},
	"ops":        {"check", "--device", "cpu", "--ops", "all", "--no-drift"},
	"generate":   {"generate", "--device", "cpu", "-n", "20"},
	"tokens":     {"generate", "--device", "cpu", "-n", "20", "--json"},
	"logits":     {"logits", "--device", "cpu", "-p", "Tom"},
	"embed":      {"embed", "--device", "cpu", "-p", "Tom"},
	"inspect":    {"inspect", "MODEL"},
	"devices":    {"devices"},
	"bench":      {"bench", "--device", "cpu", "--quiet", "-p", "4", "-n", "2", "-r", "1"},
	"version":    {"version"},
	"help":       {"help"},
	"merge":      {"merge", "REPORT"},
	"plan":       {"check", "--device", "cpu", "--dry-run"},
}

// TestClosedPipe: a reader that goes away ends a command without a word; where stdout is full, the command says so.
func TestClosedPipe(t *testing.T) {
	f := newOutputFixture(t)
	for name, args := range printers {
		args := slices.Clone(args)
		for i := range args {
			args[i] = strings.NewReplacer("MODEL", f.model, "REPORT", f.report).Replace(args[i])
		}
		t.Run(name+"/closed", func(t *testing.T) {
			p := newProgram(t, args...)
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			r.Close()
			p.Stdout = w
			p.Run() //nolint:errcheck // the exit code tells
			w.Close()
			if code := p.ProcessState.ExitCode(); code != exitUsage || p.stderr.Len() > 0 {
				t.Errorf("it ended with %v and said %q", p.ProcessState, p.stderr.String())
			}
		})
		t.Run(name+"/full", func(t *testing.T) {
			full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
			if err != nil {
				t.Skipf("SKIPPED: %v", err)
			}
			defer full.Close()
			p := newProgram(t, args...)
			p.Stdout = full
			refused(t, p, "/dev/stdout: no space left on device")
		})
	}
	t.Run("messages that nobody reads", func(t *testing.T) {
		p := newProgram(t, "quantize", f.model, "out.gguf", "Q8_0")
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		p.Stderr = w
		if err := p.Run(); err != nil {
			t.Error(err)
		}
		w.Close()
		only(t, p.dir, "out.gguf")
	})
}
