package check

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
)

// module is the name of this module in the build information of a program.
const module = "cera"

// Build says which program made a report.
type Build struct {
	Version  string `json:"version"`            // of this module; "devel" where it has none
	Revision string `json:"revision,omitempty"` // of the repository that it was built from, where that is known
	Time     string `json:"time,omitempty"`     // of the revision, RFC 3339
	Modified bool   `json:"modified,omitempty"` // the sources differed from the revision
	Go       string `json:"go"`                 // version of the toolchain
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

// String is a build in one line.
func (b Build) String() string {
	s := b.Version
	if b.Revision != "" {
		s += " " + b.Revision
	}
	if b.Modified {
		s += " (modified)"
	}
	if b.Time != "" {
		s += " of " + b.Time
	}
	return fmt.Sprintf("%s, %s, %s/%s", s, b.Go, b.OS, b.Arch)
}

// ThisBuild describes the running program. Where the module is a part of another program, the revision is not known.
var ThisBuild = sync.OnceValue(func() Build {
	info, _ := debug.ReadBuildInfo()
	return buildOf(info)
})

// buildOf reads what the toolchain wrote into a program; nil: nothing.
func buildOf(info *debug.BuildInfo) Build {
	b := Build{Version: "devel", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	if info == nil {
		return b
	}
	version := info.Main.Version
	if info.Main.Path != module {
		version = ""
		for _, d := range info.Deps {
			if d.Path == module {
				version = d.Version
			}
		}
	} else {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				b.Revision = s.Value
			case "vcs.time":
				b.Time = s.Value
			case "vcs.modified":
				b.Modified = s.Value == "true"
			}
		}
	}
	// What the toolchain makes up for an untagged revision says the same as the revision and its time.
	if version != "" && version != "(devel)" && !strings.HasPrefix(version, "v0.0.0-") {
		b.Version = version
	}
	return b
}
