//go:build cgo

package gpu

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/cogentcore/webgpu/wgpu"

	"cera/backend"
)

// childEnv makes the test binary play a program that opens a device and does nothing else.
const childEnv = "CERA_GPU_TEST_CHILD"

func TestMain(m *testing.M) {
	switch os.Getenv(childEnv) {
	case "":
		os.Exit(m.Run())
	case "no driver":
		_, err := Adapters()
		if _, err2 := Open(Options{Adapter: -1, AllowSoftware: true}); !errors.Is(err, ErrNoDevice) ||
			!errors.Is(err2, ErrNoDevice) {
			os.Exit(1)
		}
	case "open":
		for range 5 {
			b, err := Open(Options{Adapter: -1, AllowSoftware: true})
			if errors.Is(err, ErrNoDevice) {
				os.Exit(77)
			}
			if err != nil {
				os.Exit(1)
			}
			b.Alloc("x", 1, 4)
			b.Close()
		}
	case "memory":
		os.Exit(fillMemory())
	case "failing":
		os.Exit(failing())
	}
}

// child runs the test binary as a program in the given part and returns all it printed.
func child(part string, env ...string) (string, error) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), append(env, childEnv+"="+part)...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// Without a driver, opening is an error, not an abort.
func TestNoDriver(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED: the variables that hide the drivers are those of Vulkan's loader")
	}
	out, err := child("no driver", "VK_DRIVER_FILES=/nonexistent", "VK_ICD_FILENAMES=/nonexistent")
	if err != nil || out != "" {
		t.Errorf("found %v and %q, expected ErrNoDevice without output", err, out)
	}
	if msg := noDevice("x").Error(); !strings.Contains(msg, "libvulkan1") ||
		!strings.Contains(msg, "mesa-vulkan-drivers") {
		t.Errorf("%q does not say what to install", msg)
	}
}

// Opening and closing prints nothing, with and without a desktop session.
func TestOpenIsQuiet(t *testing.T) {
	for _, env := range []string{"XDG_RUNTIME_DIR=", "XDG_RUNTIME_DIR=" + t.TempDir()} {
		out, err := child("open", env)
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() == 77 && os.Getenv("CERA_REQUIRE_GPU") != "1" {
			t.Skip("SKIPPED: no adapter")
		}
		if err != nil || out != "" {
			t.Errorf("%s: found %v and output %q", env, err, out)
		}
	}
}

func TestAdapters(t *testing.T) {
	b := open(t, Options{})
	infos, err := Adapters()
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range infos {
		if a.Index != i || a.Name == "" || a.API == "" || a.Limits.MaxBinding < 1<<26 || a.Limits.OffsetAlign <= 0 ||
			a.Limits.Invocations < 256 {
			t.Errorf("adapter %d: %+v", i, a)
		}
		if i > 0 && preference(infos[i-1].Type) > preference(a.Type) {
			t.Errorf("adapter %d, %s, comes after %s", i, a.Type, infos[i-1].Type)
		}
	}
	first := infos[0]
	want := backend.Info{Backend: "gpu", Adapter: first.Name, Driver: b.info.Driver, Library: Library(),
		Software: first.Software, MaxBytes: b.limits.MaxBinding}
	if b.Info() != want || b.info.Driver == "" || b.info.Library == "" || b.info.MaxBytes > first.Limits.MaxBinding {
		t.Errorf("found %+v, expected %+v", b.Info(), want)
	}
	text, err := json.Marshal(first)
	if err != nil || !strings.Contains(string(text), `"max_binding_bytes":`) {
		t.Errorf("found %s, %v", text, err)
	}
	if _, err := Open(Options{Adapter: len(infos), AllowSoftware: true}); err == nil ||
		!strings.Contains(err.Error(), fmt.Sprint(len(infos))) {
		t.Errorf("adapter past the end: %v", err)
	}
	if _, err := Open(Options{MaxBinding: 3, AllowSoftware: true}); err == nil ||
		!strings.Contains(err.Error(), "MaxBinding") {
		t.Errorf("MaxBinding 3: %v", err)
	}
}

func TestChoose(t *testing.T) {
	hardware, software := AdapterInfo{Name: "card"}, AdapterInfo{Name: "pipe", Software: true}
	for _, c := range []struct {
		name  string
		infos []AdapterInfo
		o     Options
		want  int
		err   string
	}{
		{"best", []AdapterInfo{hardware, software}, Options{Adapter: -1}, 0, ""},
		{"by index", []AdapterInfo{hardware, software}, Options{Adapter: 1, AllowSoftware: true}, 1, ""},
		{"software by index", []AdapterInfo{hardware, software}, Options{Adapter: 1}, 0, "pipe"},
		{"only software", []AdapterInfo{software}, Options{Adapter: -1}, 0, "software adapter"},
		{"only software, allowed", []AdapterInfo{software}, Options{Adapter: -1, AllowSoftware: true}, 0, ""},
		{"past the end", []AdapterInfo{software}, Options{Adapter: 1}, 0, "adapters 0 to 0"},
		{"negative", []AdapterInfo{software}, Options{Adapter: -2}, 0, "adapter -2"},
	} {
		got, err := choose(c.infos, c.o)
		if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: found %d, %v", c.name, got, err)
		}
	}
}

func TestDescribe(t *testing.T) {
	for _, c := range []struct {
		info               wgpu.AdapterInfo
		name, vendor, kind string
		software           bool
	}{
		{wgpu.AdapterInfo{VendorId: 0x10005, Name: "0x0", DriverDescription: "llvmpipe",
			AdapterType: wgpu.AdapterTypeCPU}, "llvmpipe", "Mesa", TypeSoftware, true},
		{wgpu.AdapterInfo{VendorId: 0x10de, Name: "0x2330", DriverDescription: "NVIDIA H200"}, "NVIDIA H200", "NVIDIA",
			TypeDiscrete, false},
		{wgpu.AdapterInfo{VendorId: 0x1002, Name: "vGPU", AdapterType: wgpu.AdapterTypeCPU}, "vGPU", "AMD", TypeVirtual,
			false},
		{wgpu.AdapterInfo{VendorId: 0x8086, Name: "Arc", AdapterType: wgpu.AdapterTypeIntegratedGPU}, "Arc", "Intel",
			TypeIntegrated, false},
		{wgpu.AdapterInfo{VendorId: 0x77, DeviceId: 0x12, AdapterType: wgpu.AdapterTypeUnknown}, "adapter 0077:0012",
			"0x0077", TypeUnknown, false},
	} {
		a := describe(c.info, wgpu.Limits{})
		if a.Name != c.name || a.Vendor != c.vendor || a.Type != c.kind || a.Software != c.software {
			t.Errorf("%+v: found %+v", c.info, a)
		}
	}
}

// Backends in goroutines of their own do not disturb each other, while the collector runs.
func TestBackendsInParallel(t *testing.T) {
	open(t, Options{}).Close()
	var wg sync.WaitGroup
	for g := range 3 {
		wg.Go(func() {
			b, err := Open(Options{Adapter: -1, AllowSoftware: true})
			if err != nil {
				t.Error(err)
				return
			}
			defer b.Close()
			x := b.Alloc("x", 1, 64)
			bias := b.Alloc("bias", 1, 64)
			ones := make([]float32, 64)
			for i := range ones {
				ones[i] = float32(g + 1)
			}
			b.Upload(bias, ones)
			got := make([]float32, 64)
			for i := range 100 {
				b.AddBias(x, bias)
				if err := b.Read(got, x); err != nil || got[63] != float32((g+1)*(i+1)) {
					t.Errorf("backend %d, run %d: found %g, %v", g, i, got[63], err)
					return
				}
				runtime.KeepAlive(make([]byte, 1<<20))
			}
		})
	}
	wg.Wait()
}
