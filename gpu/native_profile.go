//go:build cgo

package gpu

/*
#include <stdint.h>
#include <stddef.h>

// From webgpu.h, as far as they are needed here.
typedef struct WGPUDeviceImpl *WGPUDevice;
typedef struct WGPUCommandEncoderImpl *WGPUCommandEncoder;
typedef struct WGPUComputePassEncoderImpl *WGPUComputePassEncoder;
typedef struct WGPUQuerySetImpl *WGPUQuerySet;
typedef struct { WGPUQuerySet set; uint32_t begin, end; } timestamp_writes;
typedef struct { void const *next; char const *label; timestamp_writes const *timestamps; } pass_descriptor;

extern WGPUComputePassEncoder wgpuCommandEncoderBeginComputePass(WGPUCommandEncoder encoder, pass_descriptor const *descriptor);
extern void wgpuDeviceReference(WGPUDevice device);

typedef struct { WGPUDevice device; void *ref; } device_and_ref;

// The pass holds the device, as the binding's own does.
static device_and_ref begin_timed_pass(device_and_ref encoder, void *set, uint32_t at) {
	timestamp_writes stamps = {set, at, at + 1};
	pass_descriptor descriptor = {NULL, NULL, &stamps};
	device_and_ref pass = {encoder.device, wgpuCommandEncoderBeginComputePass(encoder.ref, &descriptor)};
	if (pass.ref) {
		wgpuDeviceReference(pass.device);
	}
	return pass;
}
*/
import "C"

import (
	"reflect"
	"unsafe"

	"github.com/cogentcore/webgpu/wgpu"
)

// deviceAndRef tells whether a type of the binding is a struct of two pointers, of which the first is the device.
func deviceAndRef[T any]() bool {
	t := reflect.TypeFor[T]()
	return t.Kind() == reflect.Struct && t.NumField() == 2 && t.Field(0).Name == "deviceRef" &&
		t.Field(0).Type.Kind() == reflect.Pointer && t.Field(1).Type.Kind() == reflect.Pointer
}

// beginTimedPass begins a pass that writes timestamps at and at+1 of set at its begin and end. The binding's own call
// leaves out what it is told of timestamps, so the library is called directly, as in createInstance. It returns nil
// where the binding is not as expected.
func beginTimedPass(enc *wgpu.CommandEncoder, set *wgpu.QuerySet, at uint32) *wgpu.ComputePassEncoder {
	if !deviceAndRef[wgpu.CommandEncoder]() || !deviceAndRef[wgpu.ComputePassEncoder]() ||
		!onePointer[wgpu.QuerySet]() {
		return nil
	}
	from := *(*C.device_and_ref)(unsafe.Pointer(enc))
	got := C.begin_timed_pass(from, *(*unsafe.Pointer)(unsafe.Pointer(set)), C.uint32_t(at))
	if got.ref == nil {
		return nil
	}
	pass := new(wgpu.ComputePassEncoder)
	*(*C.device_and_ref)(unsafe.Pointer(pass)) = got
	return pass
}
