//go:build cgo

package gpu

/*
#include <setjmp.h>
#include <stdint.h>
#include <stddef.h>

// From webgpu.h and wgpu.h, as far as they are needed here.
typedef struct WGPUDeviceImpl *WGPUDevice;
typedef struct WGPUQueueImpl *WGPUQueue;
typedef struct WGPUCommandBufferImpl *WGPUCommandBuffer;
extern WGPUQueue wgpuDeviceGetQueue(WGPUDevice device);
extern void wgpuQueueRelease(WGPUQueue queue);
extern uint64_t wgpuQueueSubmitForIndex(WGPUQueue queue, size_t count, WGPUCommandBuffer const *commands);
extern uint32_t wgpuDevicePoll(WGPUDevice device, uint32_t wait, void const *index);

typedef struct {
	WGPUDevice device;
	WGPUCommandBuffer command;
	uint32_t done;
} call;

static void submit(call *c) {
	WGPUQueue queue = wgpuDeviceGetQueue(c->device);
	wgpuQueueSubmitForIndex(queue, c->command ? 1 : 0, &c->command);
	wgpuQueueRelease(queue);
}

static void poll(call *c) { c->done = wgpuDevicePoll(c->device, 0, NULL); }

#if defined(__linux__) && defined(__GNUC__) && (defined(__x86_64__) || defined(__aarch64__))
#include <unwind.h>

static __thread jmp_buf *landing;

// Tells the unwinder that the frame of guarded takes whatever comes, and goes on in survive. The exception stays where it is:
// the library ends the process when one of its own is deleted by others.
__attribute__((used)) static _Unwind_Reason_Code catch_all(int version, _Unwind_Action actions, _Unwind_Exception_Class class,
		struct _Unwind_Exception *e, struct _Unwind_Context *c) {
	if (actions & _UA_SEARCH_PHASE) {
		return _URC_HANDLER_FOUND;
	}
	if (actions & _UA_HANDLER_FRAME) {
		longjmp(*landing, 1);
	}
	return _URC_CONTINUE_UNWIND;
}

// What the unwinder's tables refer to the function by: 0x9b, a relative address of a pointer.
__attribute__((used)) static void *catch_all_at __asm__("cera_catch_all_at") = (void *)catch_all;

static __attribute__((noinline)) void guarded(void (*f)(call *), call *c) {
	__asm__ volatile(".cfi_personality 0x9b, cera_catch_all_at");
	f(c);
	__asm__ volatile("" ::: "memory"); // the frame stays until f returns
}

static int survive(void (*f)(call *), call *c) {
	jmp_buf here;
	landing = &here;
	if (setjmp(here)) {
		return 0;
	}
	guarded(f, c);
	return 1;
}
#else
static int survive(void (*f)(call *), call *c) {
	f(c);
	return 1;
}
#endif

static int survive_submit(call *c) { return survive(submit, c); }
static int survive_poll(call *c) { return survive(poll, c); }
*/
import "C"

import (
	"unsafe"

	"github.com/cogentcore/webgpu/wgpu"
)

// The library (wgpu-native 0.19) takes the loss of a device in a submit or a poll as a reason to panic, and where no
// frame catches that, to end the process. On Linux these two are called through a frame that does; elsewhere a device's
// loss is an error only if it is told to the callback first. After it the library is not called any more: see
// Backend.lose.

// submitNative submits cmd, or with nil what was written to buffers. It reports whether the library survived.
func submitNative(dev *wgpu.Device, queue *wgpu.Queue, cmd *wgpu.CommandBuffer) bool {
	if !onePointer[wgpu.Device]() || !onePointer[wgpu.CommandBuffer]() {
		if cmd == nil {
			queue.Submit()
		} else {
			queue.Submit(cmd)
		}
		return true
	}
	c := C.call{device: *(*C.WGPUDevice)(unsafe.Pointer(dev))}
	if cmd != nil {
		c.command = *(*C.WGPUCommandBuffer)(unsafe.Pointer(cmd))
	}
	return C.survive_submit(&c) != 0
}

// pollNative lets the library look at how far the device is: whether it has done all that was submitted, and whether
// the library survived.
func pollNative(dev *wgpu.Device) (done, survived bool) {
	if !onePointer[wgpu.Device]() {
		return dev.Poll(false, nil), true
	}
	c := C.call{device: *(*C.WGPUDevice)(unsafe.Pointer(dev))}
	survived = C.survive_poll(&c) != 0
	return c.done != 0, survived
}
