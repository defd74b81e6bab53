//go:build cgo

package gpu

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cogentcore/webgpu/wgpu"

	"cera/backend"
	"cera/shaders"
)

const built = true

// Backend is a WebGPU device with what is recorded for it. It implements backend.Backend and belongs to one
// goroutine at a time.
type Backend struct {
	info        backend.Info
	limits      Limits // of the device
	maxWeight   int64  // largest part of a weight in bytes, a multiple of 4
	matVecRows  int
	pack        Pack
	tune        tuning
	maxThreads  int                 // of a workgroup in one dimension
	normVariant shaders.NormVariant // forced; none where it has no threads
	attention   attentionForce      // forced; none where it has no kernel
	templates   fs.FS               // of kernels; nil: those of package shaders

	instance *wgpu.Instance
	adapter  *wgpu.Adapter
	dev      *wgpu.Device
	queue    *wgpu.Queue

	events events // what the library tells by itself
	lost   error  // the device is lost; stays
	err    error  // first error since the last Flush or Read that returned one
	closed bool

	nextID    uint64
	buffers   map[*buffer]struct{} // all that are alive
	scratch   []*buffer            // released at the next submit
	rec       recording
	tape      *tape  // of the Record that runs, or nil
	epoch     uint64 // counts releases of bind groups
	pipelines map[any]*pipeline
	params    map[any]*buffer
	groups    map[groupKey]*wgpu.BindGroup
	interims  map[int]*buffer // what a step of an op leaves to the next, by the logarithm of the size
	rooms     map[int]*buffer // of panels, by their words
	halves    halfKind        // what the device makes of subnormal halves
	sketching *sketching      // of a backend without a device, or nil
	compiling *compiling      // what Prepare began, or nil
	pace      pace
	submits   uint64 // so far
	commands  uint64 // so far
	prof      profile
	guards    guards
	memory    Memory
	staging   *wgpu.Buffer // for readback
	stagingN  uint64       // its size in bytes
	ring      ring         // for weights
	written   int64        // bytes written through the queue since the device was last waited for
}

// Open makes a device on the adapter that o selects. Where there is none, the error wraps ErrNoDevice. Opening
// prints nothing.
func Open(o Options) (*Backend, error) {
	instance, raw, infos, err := adapters()
	if err != nil {
		return nil, fmt.Errorf("gpu: %w", err)
	}
	b := &Backend{
		instance:  instance,
		buffers:   map[*buffer]struct{}{},
		pipelines: map[any]*pipeline{},
		params:    map[any]*buffer{},
		groups:    map[groupKey]*wgpu.BindGroup{},
		interims:  map[int]*buffer{},
		rooms:     map[int]*buffer{},
	}
	pick, err := choose(infos, o)
	for i, a := range raw {
		if err == nil && i == pick {
			b.adapter = a
			continue
		}
		a.Release()
	}
	if err == nil {
		err = b.open(infos[pick], o)
	}
	if err != nil {
		b.release()
		return nil, fmt.Errorf("gpu: %w", err)
	}
	return b, nil
}

// choose returns the index of the adapter that o asks for.
func choose(infos []AdapterInfo, o Options) (int, error) {
	pick := o.Adapter
	if pick == -1 {
		pick = 0 // hardware comes first
	}
	if pick < 0 || pick >= len(infos) {
		return 0, fmt.Errorf("adapter %d: there are adapters 0 to %d", o.Adapter, len(infos)-1)
	}
	if infos[pick].Software && !o.AllowSoftware {
		return 0, noDevice(fmt.Sprintf("adapter %d, %s, is a software adapter", pick, infos[pick].Name))
	}
	return pick, nil
}

func (b *Backend) open(a AdapterInfo, o Options) error {
	if o.MaxBinding < 0 || o.MaxBinding > 0 && o.MaxBinding < 4 {
		return fmt.Errorf("Options.MaxBinding: found %d, expected 0 or at least 4 bytes", o.MaxBinding)
	}
	if name := cmp.Or(o.NormVariant, os.Getenv("CERA_NORM_VARIANT")); name != "" {
		var err error
		if b.normVariant, err = shaders.ParseNormVariant(name); err != nil {
			return fmt.Errorf("Options.NormVariant or CERA_NORM_VARIANT: %w", err)
		}
	}
	if name := cmp.Or(o.AttentionVariant, os.Getenv("CERA_ATTENTION_VARIANT")); name != "" {
		var err error
		if b.attention, err = parseAttention(name); err != nil {
			return fmt.Errorf("Options.AttentionVariant or CERA_ATTENTION_VARIANT: %w", err)
		}
	}
	if o.Guard || os.Getenv("CERA_GUARD") != "" {
		b.guards.enable()
	}
	asked, err := o.asked()
	if err != nil {
		return err
	}
	want := requiredLimits(b.adapter.GetLimits().Limits, asked)
	var dev *wgpu.Device
	b.prof.able = b.adapter.HasFeature(wgpu.FeatureNameTimestampQuery)
	dev, b.events, err = requestDevice(b.adapter, want, b.prof.able)
	if err != nil {
		return fmt.Errorf("adapter %s: %w", a.Name, err)
	}
	b.dev = dev
	b.queue = dev.GetQueue()

	got := dev.GetLimits().Limits
	b.limits = describe(wgpu.AdapterInfo{}, got).Limits
	b.ring.init(b.limits)
	b.maxThreads = min(b.limits.Invocations, int(got.MaxComputeWorkgroupSizeX))
	b.maxWeight = b.limits.MaxBinding
	if o.MaxBinding > 0 {
		b.maxWeight = min(b.maxWeight, o.MaxBinding&^3)
	}
	if b.templates, err = kernels(o.Kernels); err != nil {
		return err
	}
	b.matVecRows, b.pack = o.MatVecRows, o.Pack
	if b.matVecRows == 0 {
		b.matVecRows = DefaultMatVecRows
	}
	driver := a.API
	if a.Driver != "" {
		driver = a.Driver + " (" + a.API + ")"
	}
	b.info = backend.Info{
		Backend:  "gpu",
		Adapter:  a.Name,
		Driver:   driver,
		Library:  Library(),
		Software: a.Software,
		MaxBytes: b.limits.MaxBinding,
		Kernels:  o.Kernels,
	}
	return nil
}

// requiredLimits returns what is asked of a device on an adapter with limits l.
func requiredLimits(l wgpu.Limits, asked Limits) wgpu.Limits {
	// The adapter's own struct holds garbage past some field, so only what the kernels need is copied.
	want := wgpu.DefaultLimits()
	want.MaxStorageBufferBindingSize = within(uint64(asked.MaxBinding), l.MaxStorageBufferBindingSize)
	// A driver without a limit says the largest uint64, which the library takes for "default" when asked for it.
	want.MaxBufferSize = within(uint64(asked.MaxBuffer), min(l.MaxBufferSize, 1<<40))
	want.MinStorageBufferOffsetAlignment = max(uint32(asked.OffsetAlign), l.MinStorageBufferOffsetAlignment)
	want.MaxStorageBuffersPerShaderStage = within(uint32(asked.StorageBuffers), l.MaxStorageBuffersPerShaderStage)
	want.MaxComputeWorkgroupStorageSize = within(uint32(asked.WorkgroupStorage), l.MaxComputeWorkgroupStorageSize)
	want.MaxComputeInvocationsPerWorkgroup = within(uint32(asked.Invocations), l.MaxComputeInvocationsPerWorkgroup)
	want.MaxComputeWorkgroupSizeX = within(uint32(asked.Invocations), l.MaxComputeWorkgroupSizeX)
	want.MaxComputeWorkgroupSizeY = within(uint32(asked.Invocations), l.MaxComputeWorkgroupSizeY)
	want.MaxComputeWorkgroupSizeZ = within(uint32(asked.Invocations), l.MaxComputeWorkgroupSizeZ)
	want.MaxComputeWorkgroupsPerDimension = within(uint32(asked.Workgroups), l.MaxComputeWorkgroupsPerDimension)
	return want
}

// kernels opens a folder of templates. Each must replace one there is: a misspelt name would do nothing.
func kernels(dir string) (fs.FS, error) {
	if dir == "" {
		return nil, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("kernels: %w", err)
	}
	known, found := shaders.Templates(), 0
	for _, e := range entries {
		ext := filepath.Ext(e.Name())
		if ext != ".wgsl" && ext != ".tmpl" {
			continue
		}
		if !slices.Contains(known, e.Name()) {
			return nil, fmt.Errorf("kernels: %s replaces no kernel; there are %s", filepath.Join(dir, e.Name()),
				strings.Join(known, ", "))
		}
		found++
	}
	if found == 0 {
		return nil, fmt.Errorf("kernels: %s has no .wgsl or .tmpl file", dir)
	}
	return shaders.Overlay(os.DirFS(dir)), nil
}

// Info describes the adapter; MaxBytes is the largest binding.
func (b *Backend) Info() backend.Info { return b.info }

var errClosed = errors.New("the backend is closed")

// ready reports whether an op may run: not after an error, nor after Close.
func (b *Backend) ready(op string) bool {
	if b.closed {
		b.fail(op, errClosed)
	} else {
		b.notice(op)
	}
	return b.err == nil
}

// fail keeps the first error.
func (b *Backend) fail(op string, err error) {
	if b.err == nil {
		b.err = fmt.Errorf("gpu: %s: %w", op, err)
	}
}

// take returns the sticky error and clears it.
func (b *Backend) take() error {
	err := b.err
	b.err = nil
	return err
}

// Flush submits what was recorded and waits until the device has done it. It returns the first error of any op
// since the last Flush or Read that returned one, and gives back the memory that weights pass through on their way.
func (b *Backend) Flush() error {
	if b.ready("Flush") {
		b.wait("Flush")
		b.notice("Flush")
	}
	b.freeRing("Flush")
	return b.take()
}

// wait submits and waits for the device.
func (b *Backend) wait(op string) {
	b.checkGuards(op)
	b.submit(op)
	b.idle()
}

// idle waits until the device has done all that was submitted.
//
// It never lets the library wait: Poll(true) gives up after five seconds, takes the work for done all the same, and
// frees memory that the device still uses (wgpu issues 3601 and 4589). On a software adapter a submit may well take
// longer than that. Asked without waiting, the library reads how far the device really is.
func (b *Backend) idle() {
	const spin, nap = 2 * time.Millisecond, 200 * time.Microsecond
	start := time.Now()
	for !b.poll() {
		if time.Since(start) > spin {
			time.Sleep(nap)
		}
	}
	b.pace.idle()
}

// Close waits for the device and releases everything on it. Further calls do nothing.
func (b *Backend) Close() {
	if b.closed {
		return
	}
	b.stopCompiling()
	b.awaitCompiled()
	b.wait("Close")
	b.closed = true
	b.release()
}

// release gives back whatever was made, in reverse order.
func (b *Backend) release() {
	b.freeRing("Close")
	b.dropGroups(nil)
	for buf := range b.buffers {
		b.drop(buf)
	}
	clear(b.params)
	b.prof.release()
	if b.staging != nil {
		b.staging.Release()
		b.staging, b.stagingN = nil, 0
	}
	for _, p := range b.pipelines {
		p.release()
	}
	clear(b.pipelines)
	if b.lost != nil {
		return // the library would wait for a lost device: it stays until the process ends
	}
	if b.queue != nil {
		b.queue.Release()
	}
	if b.dev != nil {
		b.idle()
		b.dev.Release()
	}
	if b.adapter != nil {
		b.adapter.Release()
	}
	if b.instance != nil {
		b.instance.Release()
	}
}
