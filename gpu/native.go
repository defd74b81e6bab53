//go:build cgo

package gpu

/*
#include <stdint.h>

// From webgpu.h and wgpu.h, as far as they are needed here.
typedef struct WGPUInstanceImpl *WGPUInstance;
typedef struct chained {
	struct chained const *next;
	unsigned type;
} chained;
typedef struct { chained const *next; } instance_descriptor;
typedef struct {
	chained chain;
	uint32_t backends, flags;
	unsigned dx12_compiler, gles3_minor;
	char const *dxil_path, *dxc_path;
} instance_extras;

extern WGPUInstance wgpuCreateInstance(instance_descriptor const *descriptor);

enum { INSTANCE_EXTRAS = 0x00030006 };

static void *create_instance(uint32_t backends) {
	instance_extras extras = {.chain = {.type = INSTANCE_EXTRAS}, .backends = backends};
	instance_descriptor descriptor = {&extras.chain};
	return wgpuCreateInstance(&descriptor);
}
*/
import "C"

import (
	"reflect"
	"unsafe"

	"github.com/cogentcore/webgpu/wgpu"
)

// createInstance makes an instance for the given graphics APIs; nil where that fails.
//
// The binding's own call hands the library a descriptor with uninitialised fields, and what happens to be in them
// aborts the process, seldom in the first call and often in later ones. So the library is called directly, and the
// handle put into the binding's type, a struct of one pointer. Should another version of the binding lay it out in
// another way, its own call is all there is.
func createInstance(backends wgpu.InstanceBackend) *wgpu.Instance {
	in := new(wgpu.Instance)
	if t := reflect.TypeOf(*in); t.NumField() != 1 || t.Field(0).Type.Kind() != reflect.Pointer {
		return wgpu.CreateInstance(&wgpu.InstanceDescriptor{Backends: backends})
	}
	handle := C.create_instance(C.uint32_t(backends))
	if handle == nil {
		return nil
	}
	*(*unsafe.Pointer)(unsafe.Pointer(in)) = handle
	return in
}
