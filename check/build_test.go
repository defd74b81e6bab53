package check

import (
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

func TestBuild(t *testing.T) {
	setting := func(key, value string) debug.BuildSetting { return debug.BuildSetting{Key: key, Value: value} }
	own := func(version string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Path: module, Version: version}, Settings: settings}
	}
	vcs := []debug.BuildSetting{setting("vcs.revision", "abc"), setting("vcs.time", "2026-01-02T03:04:05Z"),
		setting("vcs.modified", "true")}
	for name, c := range map[string]struct {
		info *debug.BuildInfo
		want Build
		line string
	}{
		"nothing known": {nil, Build{Version: "devel"}, "devel, "},
		"development":   {own("(devel)"), Build{Version: "devel"}, "devel, "},
		"tag":           {own("v1.2.3"), Build{Version: "v1.2.3"}, "v1.2.3, "},
		"untagged revision": {own("v0.0.0-20260102030405-abc", vcs[:2]...),
			Build{Version: "devel", Revision: "abc", Time: "2026-01-02T03:04:05Z"},
			"devel abc of 2026-01-02T03:04:05Z, "},
		"modified": {own("", vcs...), Build{Version: "devel", Revision: "abc", Time: "2026-01-02T03:04:05Z",
			Modified: true}, "devel abc (modified) of 2026-01-02T03:04:05Z, "},
		"part of another": {&debug.BuildInfo{Main: debug.Module{Path: "other", Version: "v9.0.0"}, Settings: vcs,
			Deps: []*debug.Module{{Path: "x", Version: "v8.0.0"}, {Path: module, Version: "v1.2.3"}}},
			Build{Version: "v1.2.3"}, "v1.2.3, "},
	} {
		c.want.Go, c.want.OS, c.want.Arch = runtime.Version(), runtime.GOOS, runtime.GOARCH
		got := buildOf(c.info)
		if got != c.want {
			t.Errorf("%s: %+v, expected %+v", name, got, c.want)
		}
		if !strings.HasPrefix(got.String(), c.line) ||
			!strings.HasSuffix(got.String(), runtime.GOOS+"/"+runtime.GOARCH) {
			t.Errorf("%s: %q", name, got)
		}
	}
}
