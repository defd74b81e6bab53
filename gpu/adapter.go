//go:build cgo

package gpu

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/cogentcore/webgpu/wgpu"
)

var (
	// instanceMu guards the environment while an instance is made.
	instanceMu sync.Mutex
	// anchor is an instance that nothing uses: while it lives the drivers stay loaded. Some (NVIDIA's) can be loaded
	// and unloaded only some dozens of times in a process before they no longer find their own card.
	anchor *wgpu.Instance
)

// adapters lists the adapters in order of preference. The caller releases every one and the instance.
func adapters() (*wgpu.Instance, []*wgpu.Adapter, []AdapterInfo, error) {
	instanceMu.Lock()
	defer instanceMu.Unlock()
	wgpu.SetLogLevel(wgpu.LogLevelOff)
	defer quietLayers()()
	if anchor == nil {
		anchor = createInstance(instanceBackends())
	}
	instance := createInstance(instanceBackends())
	if instance == nil {
		return nil, nil, nil, noDevice("the graphics library does not start")
	}
	raw := instance.EnumerateAdapters(&wgpu.InstanceEnumerateAdapterOptons{Backends: instanceBackends()})
	if len(raw) == 0 {
		instance.Release()
		return nil, nil, nil, noDevice("the graphics driver lists no adapter")
	}
	type entry struct {
		raw  *wgpu.Adapter
		info AdapterInfo
	}
	entries := make([]entry, len(raw))
	for i, a := range raw {
		entries[i] = entry{a, describe(a.GetInfo(), a.GetLimits().Limits)}
	}
	slices.SortStableFunc(entries, func(a, b entry) int { return preference(a.info.Type) - preference(b.info.Type) })
	infos := make([]AdapterInfo, len(raw))
	for i, e := range entries {
		raw[i], infos[i] = e.raw, e.info
		infos[i].Index = i
	}
	return instance, raw, infos, nil
}

// Adapters lists the adapters in order of preference: discrete, integrated, virtual, unknown, software. The error
// wraps ErrNoDevice where there are none.
func Adapters() ([]AdapterInfo, error) {
	instance, raw, infos, err := adapters()
	if err != nil {
		return nil, err
	}
	for _, a := range raw {
		a.Release()
	}
	instance.Release()
	return infos, nil
}

// instanceBackends leaves OpenGL out: it computes nothing here and floods stderr on machines without a display.
func instanceBackends() wgpu.InstanceBackend {
	if runtime.GOOS == "linux" {
		return wgpu.InstanceBackendVulkan
	}
	return wgpu.InstanceBackendPrimary
}

// quietLayers turns off Mesa's device-selection layer where there is no session for it to ask: it would print
// complaints about XDG_RUNTIME_DIR to stderr, and the choice of adapter is made here anyway. The returned function
// restores the environment.
func quietLayers() func() {
	const key = "NODEVICE_SELECT"
	if _, set := os.LookupEnv(key); set || runtime.GOOS != "linux" || os.Getenv("XDG_RUNTIME_DIR") != "" {
		return func() {}
	}
	os.Setenv(key, "1")
	return func() { os.Unsetenv(key) }
}

func preference(kind string) int {
	return slices.Index([]string{TypeDiscrete, TypeIntegrated, TypeVirtual, TypeUnknown, TypeSoftware}, kind)
}

// vendors names the makers of hardware by their PCI or Khronos id.
var vendors = map[uint32]string{
	0x1002: "AMD", 0x1010: "Imagination", 0x106b: "Apple", 0x10de: "NVIDIA", 0x13b5: "ARM", 0x1af4: "Virtio",
	0x5143: "Qualcomm", 0x8086: "Intel",
}

// softwareVendors are those whose adapters run on the processor's cores.
var softwareVendors = map[uint32]string{0x1414: "Microsoft", 0x1ae0: "Google", 0x10005: "Mesa"}

// wordLimit rounds a limit in bytes down to whole words. A driver without a limit gives the largest uint64.
func wordLimit(bytes uint64) int64 { return int64(min(bytes, math.MaxInt64) &^ (wordBytes - 1)) }

func describe(info wgpu.AdapterInfo, l wgpu.Limits) AdapterInfo {
	a := AdapterInfo{
		API: info.BackendType.String(),
		Limits: Limits{
			MaxBinding:       wordLimit(min(l.MaxStorageBufferBindingSize, l.MaxBufferSize)),
			MaxBuffer:        wordLimit(l.MaxBufferSize),
			OffsetAlign:      int(l.MinStorageBufferOffsetAlignment),
			WorkgroupStorage: int(l.MaxComputeWorkgroupStorageSize),
			Invocations:      int(l.MaxComputeInvocationsPerWorkgroup),
			Workgroups:       int(l.MaxComputeWorkgroupsPerDimension),
			StorageBuffers:   int(l.MaxStorageBuffersPerShaderStage),
		},
	}
	// The binding's version puts ids in hexadecimal where names belong and the name into the description.
	for _, s := range []string{info.Name, info.DriverDescription, info.Architecture} {
		switch {
		case s == "" || strings.HasPrefix(s, "0x"):
		case a.Name == "":
			a.Name = s
		case a.Driver == "":
			a.Driver = s
		}
	}
	if a.Name == "" {
		a.Name = fmt.Sprintf("adapter %04x:%04x", info.VendorId, info.DeviceId)
	}
	hardware, known := vendors[info.VendorId]
	software, soft := softwareVendors[info.VendorId]
	switch {
	case known:
		a.Vendor = hardware
	case soft:
		a.Vendor = software
	default:
		a.Vendor = fmt.Sprintf("0x%04x", info.VendorId)
	}
	switch info.AdapterType {
	case wgpu.AdapterTypeDiscreteGPU:
		a.Type = TypeDiscrete
	case wgpu.AdapterTypeIntegratedGPU:
		a.Type = TypeIntegrated
	case wgpu.AdapterTypeCPU:
		// The binding reports virtual GPUs, slices of a real card, under the same type.
		a.Type = TypeSoftware
		if known {
			a.Type = TypeVirtual
		}
	default:
		a.Type = TypeUnknown
	}
	a.Software = a.Type == TypeSoftware
	return a
}
