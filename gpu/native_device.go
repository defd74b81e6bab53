//go:build cgo

package gpu

/*
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// From webgpu.h and wgpu.h, as far as they are needed here.
typedef struct WGPUAdapterImpl *WGPUAdapter;
typedef struct WGPUDeviceImpl *WGPUDevice;
typedef struct link { struct link const *next; unsigned type; } link;
typedef struct {
	uint32_t texture1d, texture2d, texture3d, texture_layers, bind_groups, bind_groups_and_vertex, bindings_per_group;
	uint32_t dynamic_uniforms, dynamic_storage, sampled_textures, samplers, storage_buffers, storage_textures, uniform_buffers;
	uint64_t uniform_binding, storage_binding;
	uint32_t uniform_align, storage_align, vertex_buffers;
	uint64_t buffer;
	uint32_t vertex_attributes, vertex_stride, stage_components, stage_variables, attachments, attachment_bytes;
	uint32_t workgroup_storage, invocations, size_x, size_y, size_z, workgroups;
} limits;
typedef struct { link const *next; limits limits; } required_limits;
typedef struct { link chain; uint32_t push_constants, non_samplers; } required_extras;
typedef void (*lost_callback)(unsigned reason, char const *message, void *data);
typedef void (*error_callback)(unsigned type, char const *message, void *data);
typedef struct {
	link const *next;
	char const *label;
	size_t feature_count;
	unsigned const *features;
	required_limits const *limits;
	struct { link const *next; char const *label; } queue;
	lost_callback lost;
	void *lost_data;
	struct { link const *next; error_callback callback; void *data; } error;
} device_descriptor;
typedef void (*device_callback)(unsigned status, WGPUDevice device, char const *message, void *data);

extern void wgpuAdapterRequestDevice(WGPUAdapter adapter, device_descriptor const *descriptor, device_callback callback, void *data);

enum { REQUIRED_LIMITS_EXTRAS = 0x00030002 };

// What the library tells of a device by itself. It may do so on any thread: the message is complete before its flag is set.
typedef struct {
	int lost, failed;
	char lost_message[512], failed_message[512];
} device_events;

static void keep(int *flag, char *to, size_t size, char const *message) {
	static int lock;
	while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE)) {
	}
	if (!__atomic_load_n(flag, __ATOMIC_ACQUIRE)) { // the first is the cause
		strncpy(to, message ? message : "", size - 1);
		__atomic_store_n(flag, 1, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

static void on_lost(unsigned reason, char const *message, void *data) {
	device_events *e = data;
	keep(&e->lost, e->lost_message, sizeof e->lost_message, message);
}

static void on_error(unsigned type, char const *message, void *data) {
	device_events *e = data;
	keep(&e->failed, e->failed_message, sizeof e->failed_message, message);
}

static int has_lost(device_events *e) { return __atomic_load_n(&e->lost, __ATOMIC_ACQUIRE); }
static int has_failed(device_events *e) { return __atomic_load_n(&e->failed, __ATOMIC_ACQUIRE); }
static void clear_failed(device_events *e) { __atomic_store_n(&e->failed, 0, __ATOMIC_RELEASE); }

typedef struct { WGPUDevice device; char message[512]; } answer;

static void on_device(unsigned status, WGPUDevice device, char const *message, void *data) {
	answer *a = data;
	if (status == 0) {
		a->device = device;
	} else {
		strncpy(a->message, message ? message : "", sizeof a->message - 1);
	}
}

static unsigned const timestamp_query = 0x00000003;

// Calls back before it returns.
static void request_device(void *adapter, limits *wanted, int timestamps, device_events *events, answer *a) {
	required_extras extras = {.chain = {.type = REQUIRED_LIMITS_EXTRAS}, .non_samplers = 1000000}; // the library's default
	required_limits required = {&extras.chain, *wanted};
	device_descriptor descriptor = {
		.label = "cera", .limits = &required, .lost = on_lost, .lost_data = events,
		.feature_count = timestamps ? 1 : 0, .features = &timestamp_query,
		.error = {.callback = on_error, .data = events},
	};
	wgpuAdapterRequestDevice(adapter, &descriptor, on_device, a);
}
*/
import "C"

import (
	"errors"
	"reflect"
	"unsafe"

	"github.com/cogentcore/webgpu/wgpu"
)

// events is what the library tells of a device by itself. Without the callbacks that fill it the library ends the
// process instead. It is C's memory and never freed: the library says nowhere when it has called back for the last
// time.
type events struct{ c *C.device_events }

// lost returns why the device was lost.
func (e events) lost() (string, bool) {
	if e.c == nil || C.has_lost(e.c) == 0 {
		return "", false
	}
	return C.GoString(&e.c.lost_message[0]), true
}

// failed returns an error that no call has returned, once.
func (e events) failed() (string, bool) {
	if e.c == nil || C.has_failed(e.c) == 0 {
		return "", false
	}
	message := C.GoString(&e.c.failed_message[0])
	C.clear_failed(e.c)
	return message, true
}

// tell plays the library's part, for tests: the device is lost, or an error belongs to no call.
func (e events) tell(lost bool, why string) {
	message := C.CString(why)
	defer C.free(unsafe.Pointer(message))
	if lost {
		C.on_lost(1, message, unsafe.Pointer(e.c))
	} else {
		C.on_error(1, message, unsafe.Pointer(e.c))
	}
}

// onePointer tells whether a type of the binding is a struct of one pointer, C's handle.
func onePointer[T any]() bool {
	t := reflect.TypeFor[T]()
	return t.Kind() == reflect.Struct && t.NumField() == 1 && t.Field(0).Type.Kind() == reflect.Pointer
}

// requestDevice makes a device with limits l, and with timestamps if asked.
//
// The binding's own call gives C the address of a Go variable to keep for the loss of the device, and nothing for
// errors that belong to no call, at which the library then ends the process. So the library is called directly, as in
// createInstance.
func requestDevice(adapter *wgpu.Adapter, l wgpu.Limits, timestamps bool) (*wgpu.Device, events, error) {
	if !onePointer[wgpu.Adapter]() || !onePointer[wgpu.Device]() {
		d := &wgpu.DeviceDescriptor{Label: "cera", RequiredLimits: &wgpu.RequiredLimits{Limits: l}}
		if timestamps {
			d.RequiredFeatures = []wgpu.FeatureName{wgpu.FeatureNameTimestampQuery}
		}
		dev, err := adapter.RequestDevice(d)
		return dev, events{}, err
	}
	want := C.limits{
		texture1d: C.uint32_t(l.MaxTextureDimension1D), texture2d: C.uint32_t(l.MaxTextureDimension2D),
		texture3d: C.uint32_t(l.MaxTextureDimension3D), texture_layers: C.uint32_t(l.MaxTextureArrayLayers),
		bind_groups: C.uint32_t(l.MaxBindGroups), bindings_per_group: C.uint32_t(l.MaxBindingsPerBindGroup),
		dynamic_uniforms:  C.uint32_t(l.MaxDynamicUniformBuffersPerPipelineLayout),
		dynamic_storage:   C.uint32_t(l.MaxDynamicStorageBuffersPerPipelineLayout),
		sampled_textures:  C.uint32_t(l.MaxSampledTexturesPerShaderStage),
		samplers:          C.uint32_t(l.MaxSamplersPerShaderStage),
		storage_buffers:   C.uint32_t(l.MaxStorageBuffersPerShaderStage),
		storage_textures:  C.uint32_t(l.MaxStorageTexturesPerShaderStage),
		uniform_buffers:   C.uint32_t(l.MaxUniformBuffersPerShaderStage),
		uniform_binding:   C.uint64_t(l.MaxUniformBufferBindingSize),
		storage_binding:   C.uint64_t(l.MaxStorageBufferBindingSize),
		uniform_align:     C.uint32_t(l.MinUniformBufferOffsetAlignment),
		storage_align:     C.uint32_t(l.MinStorageBufferOffsetAlignment),
		vertex_buffers:    C.uint32_t(l.MaxVertexBuffers),
		buffer:            C.uint64_t(l.MaxBufferSize),
		vertex_attributes: C.uint32_t(l.MaxVertexAttributes),
		vertex_stride:     C.uint32_t(l.MaxVertexBufferArrayStride),
		stage_components:  C.uint32_t(l.MaxInterStageShaderComponents),
		stage_variables:   C.uint32_t(l.MaxInterStageShaderVariables),
		attachments:       C.uint32_t(l.MaxColorAttachments),
		workgroup_storage: C.uint32_t(l.MaxComputeWorkgroupStorageSize),
		invocations:       C.uint32_t(l.MaxComputeInvocationsPerWorkgroup),
		size_x:            C.uint32_t(l.MaxComputeWorkgroupSizeX),
		size_y:            C.uint32_t(l.MaxComputeWorkgroupSizeY),
		size_z:            C.uint32_t(l.MaxComputeWorkgroupSizeZ),
		workgroups:        C.uint32_t(l.MaxComputeWorkgroupsPerDimension),
	}
	e := events{(*C.device_events)(C.calloc(1, C.sizeof_device_events))}
	var a C.answer
	asked := C.int(0)
	if timestamps {
		asked = 1
	}
	C.request_device(*(*unsafe.Pointer)(unsafe.Pointer(adapter)), &want, asked, e.c, &a)
	if a.device == nil {
		return nil, e, errors.New("the driver gives no device: " + C.GoString(&a.message[0]))
	}
	dev := new(wgpu.Device)
	*(*unsafe.Pointer)(unsafe.Pointer(dev)) = unsafe.Pointer(a.device)
	return dev, e, nil
}
