//go:build cgo

package gpu

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestLibraryName(t *testing.T) {
	for _, c := range []struct {
		version        uint32
		revision, want string
	}{
		{0x00130401, "abc", "wgpu-native 0.19.4.1"},
		{0x01020304, "", "wgpu-native 1.2.3.4"},
		{0xffffffff, "", "wgpu-native 255.255.255.255"},
		{0, "abc", "wgpu-native of wgpu abc"},
		{0, "", "wgpu-native of unknown version"},
	} {
		if got := libraryName(c.version, c.revision); got != c.want {
			t.Errorf("%#x, %q: %q, expected %q", c.version, c.revision, got, c.want)
		}
	}
	if got := Library(); !regexp.MustCompile(`^wgpu-native (\d+\.\d+\.\d+\.\d+|of wgpu [0-9a-f]{7})$`).MatchString(
		got) {
		t.Errorf("the library that is linked in is %q", got)
	}
}

// TestLibraryRevisions: the revisions are those that the libraries of the binding name in their messages.
func TestLibraryRevisions(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/cogentcore/webgpu").Output()
	if err != nil {
		t.Fatal(err)
	}
	source := regexp.MustCompile(`checkouts[/\\]wgpu-[0-9a-f]{16}[/\\]([0-9a-f]{7})[/\\]`)
	for platform, revision := range wgpuRevisions {
		text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(out)), "wgpu", "lib",
			filepath.FromSlash(platform), "libwgpu_native.a"))
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, m := range source.FindAllSubmatch(text, -1) {
			if r := string(m[1]); !slices.Contains(found, r) {
				found = append(found, r)
			}
		}
		if !slices.Equal(found, []string{revision}) {
			t.Errorf("%s: the library names %v, expected %s alone", platform, found, revision)
		}
	}
}
