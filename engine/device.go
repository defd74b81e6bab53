package engine

import (
	"errors"
	"fmt"

	"cera/backend"
	"cera/cpu"
	"cera/cpufast"
	"cera/gpu"
)

// ErrNoDevice is inside the error of OpenDevice where no adapter can be had; errors.Is finds it.
var ErrNoDevice = gpu.ErrNoDevice

// GPULibrary names the library that drives GPUs, with its version or the revision that it was built from; it is empty
// in a build without a GPU backend.
func GPULibrary() string { return gpu.Library() }

// CheckedDevice is what a check runs on unless told otherwise: it is the GPU's numbers that are to be proved, even on a
// software adapter. A build without a GPU backend checks the cpu's.
func CheckedDevice() string {
	if gpu.Built {
		return "gpu"
	}
	return "cpu"
}

// OpenDevice opens the backend that o.Device names: "cpu", the exact reference; "cpu-fast", float32 in vectors; "gpu",
// the best adapter, a software one included; or "auto", a hardware adapter where there is one, else "cpu-fast".
func OpenDevice(o Options) (backend.Backend, error) {
	want := gpu.Options{Adapter: -1, Kernels: o.Kernels}
	if o.Adapter != nil {
		if *o.Adapter < 0 {
			return nil, fmt.Errorf("adapter %d: adapters count from 0", *o.Adapter)
		}
		want.Adapter = *o.Adapter
	}
	switch o.Device {
	case "cpu", "cpu-fast":
		if o.Kernels != "" {
			return nil, fmt.Errorf("kernels: the %s backend has none in WGSL; use the gpu", o.Device)
		}
		if o.Device == "cpu" {
			return cpu.New(), nil
		}
		return cpufast.New(), nil
	case "gpu":
		want.AllowSoftware = true
		be, err := gpu.Open(want)
		if err != nil {
			return nil, deviceError(err)
		}
		return be, nil
	case "", "auto":
		be, err := gpu.Open(want)
		if err == nil {
			return be, nil
		}
		// No hardware adapter: the processor. An adapter that was asked for, or one that is there and fails, is an
		// error.
		if o.Adapter != nil || o.Kernels != "" || !errors.Is(err, ErrNoDevice) {
			return nil, deviceError(err)
		}
		return cpufast.New(), nil
	}
	return nil, fmt.Errorf("device %q is not one of auto, gpu, cpu, cpu-fast", o.Device)
}

// DevicesSchema names the form of Devices' JSON.
const DevicesSchema = "cera-devices-1"

// Devices lists what a model can run on.
type Devices struct {
	Schema   string            `json:"schema"`
	Adapters []gpu.AdapterInfo `json:"adapters"`          // in order of preference
	Problem  string            `json:"problem,omitempty"` // why there are none
	Library  string            `json:"library,omitempty"` // as GPULibrary
	CPU      backend.Info      `json:"cpu"`
	CPUFast  backend.Info      `json:"cpu_fast"`
	Auto     int               `json:"auto"` // index of the adapter that "auto" takes; -1: cpu-fast
	GPU      int               `json:"gpu"`  // index of the adapter that "gpu" takes; -1: none, an error
}

// ListDevices lists the adapters and which of them OpenDevice would pick. That there is none is no error.
func ListDevices() (*Devices, error) {
	d := &Devices{Schema: DevicesSchema, Adapters: []gpu.AdapterInfo{}, Library: gpu.Library(), CPU: cpu.New().Info(),
		CPUFast: cpufast.New().Info(), Auto: -1, GPU: -1}
	adapters, err := gpu.Adapters()
	if errors.Is(err, ErrNoDevice) {
		d.Problem = err.Error()
		return d, nil
	}
	if err != nil {
		return nil, deviceError(err)
	}
	d.Adapters = append(d.Adapters, adapters...)
	for i, a := range d.Adapters {
		if d.GPU < 0 {
			d.GPU = i
		}
		if d.Auto < 0 && !a.Software {
			d.Auto = i
		}
	}
	return d, nil
}
