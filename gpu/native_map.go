//go:build cgo

package gpu

/*
#include <stdint.h>
#include <stdlib.h>

// From webgpu.h, as far as they are needed here.
typedef struct WGPUBufferImpl *WGPUBuffer;
typedef void (*map_callback)(unsigned status, void *data);
extern void wgpuBufferMapAsync(WGPUBuffer buffer, uint32_t mode, size_t offset, size_t size, map_callback callback, void *data);

enum { MAP_WRITE = 2 };

// The answer to a request is its status and 1 more, so that 0 is none yet.
static void on_mapped(unsigned status, void *data) { __atomic_store_n((unsigned *)data, status + 1, __ATOMIC_RELEASE); }

static void forget(unsigned *answer) { __atomic_store_n(answer, 0, __ATOMIC_RELEASE); }

static void map_write(void *buffer, size_t size, unsigned *answer) {
	wgpuBufferMapAsync(buffer, MAP_WRITE, 0, size, on_mapped, answer);
}

static unsigned answered(unsigned *answer) { return __atomic_load_n(answer, __ATOMIC_ACQUIRE); }
*/
import "C"

import (
	"unsafe"

	"github.com/cogentcore/webgpu/wgpu"
)

// mapAnswer is where the library puts its answer to a request to map a buffer. It is C's memory: the binding's own call has
// the library keep the address of a Go variable that nothing else refers to, which a collection may reuse.
type mapAnswer struct{ c *C.uint }

func newMapAnswer() mapAnswer { return mapAnswer{(*C.uint)(C.calloc(1, C.sizeof_uint))} }

// free may be called when no request is open.
func (a mapAnswer) free() { C.free(unsafe.Pointer(a.c)) }

// forget makes room for the next answer.
func (a mapAnswer) forget() { C.forget(a.c) }

// status returns the answer to the last request, once there is one.
func (a mapAnswer) status() (s wgpu.BufferMapAsyncStatus, ok bool) {
	v := C.answered(a.c)
	return wgpu.BufferMapAsyncStatus(v - 1), v != 0
}

// canMapWrite tells whether the binding is as mapWrite expects it.
func canMapWrite() bool { return deviceAndRef[wgpu.Buffer]() }

// mapWrite asks for the first size bytes of buf to be mapped for writing once the device is done with them. The answer, which must
// have been forgotten before, comes in a submit or a poll; what is wrong with the request itself is told as an error of no call.
func mapWrite(buf *wgpu.Buffer, size int, a mapAnswer) {
	type handles struct{ device, ref unsafe.Pointer }
	C.map_write((*handles)(unsafe.Pointer(buf)).ref, C.size_t(size), a.c)
}
