//go:build cgo

package gpu

import (
	"fmt"
	"runtime"

	"github.com/cogentcore/webgpu/wgpu"
)

// wgpuRevisions are the revisions of wgpu, the implementation inside wgpu-native, that the binding's libraries were
// built from. They stand in the libraries' own messages, where a test finds them.
var wgpuRevisions = map[string]string{
	"linux/amd64": "87576b7", "linux/arm64": "5c5c8b1", "darwin/amd64": "87576b7", "darwin/arm64": "87576b7",
	"windows/amd64": "87576b7", "windows/arm64": "5c5c8b1",
}

// Library names the library under the binding that drives the GPU, with the version that it says itself. The binding's
// own build of it has none and says 0: then it is the revision of wgpu. No device is needed. Empty in a program built
// without cgo.
func Library() string {
	return libraryName(uint32(wgpu.GetVersion()), wgpuRevisions[runtime.GOOS+"/"+runtime.GOARCH])
}

// libraryName spells a version whose numbers are the bytes of a word, the first the highest, or else a revision.
func libraryName(version uint32, revision string) string {
	switch {
	case version != 0:
		return fmt.Sprintf("wgpu-native %d.%d.%d.%d", version>>24, version>>16&0xff, version>>8&0xff, version&0xff)
	case revision != "":
		return "wgpu-native of wgpu " + revision
	}
	return "wgpu-native of unknown version"
}
