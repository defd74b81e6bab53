package gpu

import (
	"cmp"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Limits are the limits that the backend obeys, of an adapter or of a device.
type Limits struct {
	MaxBinding       int64 `json:"max_binding_bytes"`       // largest storage binding, a multiple of 4
	MaxBuffer        int64 `json:"max_buffer_bytes"`        // largest buffer, a multiple of 4
	OffsetAlign      int   `json:"offset_align_bytes"`      // a binding starts at a multiple of this
	WorkgroupStorage int   `json:"workgroup_storage_bytes"` // shared memory a workgroup
	Invocations      int   `json:"workgroup_invocations"`   // threads a workgroup
	Workgroups       int   `json:"workgroups_per_dimension"`
	StorageBuffers   int   `json:"storage_buffers_per_stage"` // that a kernel binds
}

// DefaultLimits returns those that WebGPU promises on every device.
func DefaultLimits() Limits {
	return Limits{
		MaxBinding: 128 << 20, MaxBuffer: 256 << 20, OffsetAlign: 256, WorkgroupStorage: 16 << 10,
		Invocations: 256, Workgroups: 65535, StorageBuffers: 8,
	}
}

// WebGPU's names of the limits.
const (
	limitBinding     = "maxStorageBufferBindingSize"
	limitBuffer      = "maxBufferSize"
	limitStorage     = "maxComputeWorkgroupStorageSize"
	limitInvocations = "maxComputeInvocationsPerWorkgroup"
	limitWorkgroups  = "maxComputeWorkgroupsPerDimension"
	limitBuffers     = "maxStorageBuffersPerShaderStage"
)

// LimitError says that the device's limits do not allow an operation.
type LimitError struct {
	What  string // what needs more: a tensor or a kernel
	Limit string // WebGPU's name of the limit
	Need  int64
	Have  int64
}

func (e *LimitError) Error() string {
	unit := ""
	if strings.HasSuffix(e.Limit, "Size") {
		unit = " bytes"
	}
	return fmt.Sprintf("%s needs %d%s, the device's %s is %d", e.What, e.Need, unit, e.Limit, e.Have)
}

// ParseLimits reads limits as CERA_LIMITS has them: "default" for WebGPU's own, and NAME=NUMBER, separated by commas,
// later ones first. Names are binding, buffer, align and storage (in bytes), threads, workgroups and buffers (a stage).
// What is not named is 0, for as much as the adapter has.
func ParseLimits(text string) (Limits, error) {
	var l Limits
	for _, item := range strings.Split(text, ",") {
		name, value, found := strings.Cut(strings.TrimSpace(item), "=")
		if name == "default" && !found {
			l = DefaultLimits()
			continue
		}
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < 1 {
			return Limits{}, fmt.Errorf("limits: %q: expected default, or NAME=NUMBER with a number above 0", item)
		}
		small := int(min(n, 1<<31-1))
		switch name {
		case "binding":
			l.MaxBinding = n
		case "buffer":
			l.MaxBuffer = n
		case "align":
			l.OffsetAlign = small
		case "storage":
			l.WorkgroupStorage = small
		case "threads":
			l.Invocations = small
		case "workgroups":
			l.Workgroups = small
		case "buffers":
			l.StorageBuffers = small
		default:
			return Limits{}, fmt.Errorf(
				"limits: %q is not one of binding, buffer, align, storage, threads, workgroups, buffers", name)
		}
	}
	return l, nil
}

// asked returns the limits that o and the environment ask for.
func (o Options) asked() (Limits, error) {
	l := o.Limits
	if text := os.Getenv("CERA_LIMITS"); l == (Limits{}) && text != "" {
		var err error
		if l, err = ParseLimits(text); err != nil {
			return Limits{}, fmt.Errorf("CERA_LIMITS: %w", err)
		}
	}
	for _, c := range []struct {
		name     string
		n, least int64
	}{
		{"MaxBinding", l.MaxBinding, 256}, {"MaxBuffer", l.MaxBuffer, 4096},
		{"Invocations", int64(l.Invocations), 1}, {"WorkgroupStorage", int64(l.WorkgroupStorage), 1},
		{"Workgroups", int64(l.Workgroups), 65535}, {"StorageBuffers", int64(l.StorageBuffers), 1},
	} {
		if c.n != 0 && c.n < c.least {
			return Limits{}, fmt.Errorf("Options.Limits: %s is %d, expected 0 or at least %d", c.name, c.n, c.least)
		}
	}
	if a := l.OffsetAlign; a < 0 || a&(a-1) != 0 || a > 256 {
		return Limits{}, fmt.Errorf("Options.Limits: OffsetAlign is %d, expected a power of two up to 256", a)
	}
	return l, nil
}

// within returns l where the adapter has as much, and else what it has.
func within[T int64 | uint64 | uint32 | int](asked, adapter T) T {
	return min(cmp.Or(asked, adapter), adapter)
}
