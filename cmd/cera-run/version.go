package main

import (
	"cmp"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"cera/check"
	"cera/engine"
)

// versionSchema names the form of the JSON that version prints.
const versionSchema = "cera-version-1"

// bindingPath is the module of the WebGPU binding, which brings wgpu-native with it.
const bindingPath = "github.com/cogentcore/webgpu"

// versionInfo says what this program was built from.
type versionInfo struct {
	Schema  string       `json:"schema"`
	Build   check.Build  `json:"build"`
	Cgo     bool         `json:"cgo"`
	Binding string       `json:"webgpu_binding"` // empty: no GPU backend
	Library string       `json:"webgpu_library"` // under the binding, as it says itself; empty: no GPU backend
	Modules []dependency `json:"dependencies"`   // built in, by path
}

type dependency struct {
	Path     string `json:"path"`
	Version  string `json:"version"`
	Replaced string `json:"replaced_by,omitempty"`
}

func versionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version, the build, the toolchain and the modules that are built in",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			info, _ := debug.ReadBuildInfo()
			v := versionOf(info)
			if asJSON {
				return writeJSON(cmd.OutOrStdout(), v)
			}
			return v.write(cmd.OutOrStdout())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON, schema "+versionSchema)
	return cmd
}

// versionOf describes a program by what the toolchain wrote into it; nil: nothing.
func versionOf(info *debug.BuildInfo) *versionInfo {
	v := &versionInfo{Schema: versionSchema, Build: check.ThisBuild(), Library: engine.GPULibrary(),
		Modules: []dependency{}}
	if info == nil {
		return v
	}
	for _, s := range info.Settings {
		v.Cgo = v.Cgo || s.Key == "CGO_ENABLED" && s.Value == "1"
	}
	for _, m := range info.Deps {
		d := dependency{Path: m.Path, Version: m.Version}
		if m.Replace != nil {
			d.Replaced = strings.TrimSpace(m.Replace.Path + " " + m.Replace.Version)
		}
		v.Modules = append(v.Modules, d)
		if m.Path == bindingPath {
			v.Binding = m.Path + " " + m.Version
		}
	}
	return v
}

func (v *versionInfo) write(out io.Writer) error {
	fmt.Fprintf(out, "cera-run %s\n", v.Build)
	const none = "none: built without cgo, the program has the cpu backends alone"
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "cgo\t%t\nWebGPU\t%s\nGPU library\t%s\n", v.Cgo, cmp.Or(v.Binding, none), cmp.Or(v.Library, none))
	for _, m := range v.Modules {
		fmt.Fprintf(w, "%s\t%s", m.Path, m.Version)
		if m.Replaced != "" {
			fmt.Fprintf(w, " => %s", m.Replaced)
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}

// buildVersion is what a manifest says of this program: its version, and the revision where it is known.
func buildVersion() string {
	b := check.ThisBuild()
	return strings.TrimSpace(b.Version + " " + b.Revision)
}
