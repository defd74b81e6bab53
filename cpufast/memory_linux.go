package cpufast

import (
	"syscall"
	"unsafe"
)

const hugePage = 2 << 20

// allocate returns zeroed memory, in large pages where it is large itself: a core that reads gigabytes in a row would
// spend a part of its time looking up small ones. That is advice only.
func allocate(n int) []byte {
	b := make([]byte, n)
	if skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(b))) % hugePage); n >= skip+hugePage {
		syscall.Madvise(b[skip:skip+(n-skip)&^(hugePage-1)], syscall.MADV_HUGEPAGE)
	}
	return b
}
