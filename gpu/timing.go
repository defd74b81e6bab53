package gpu

import "errors"

// ErrNoTimestamps says that the adapter cannot tell when a dispatch begins and ends.
var ErrNoTimestamps = errors.New("the adapter has no timestamp queries, which a profile needs")

// Timing is one command of the device, as a profile saw it.
type Timing struct {
	Op     string    // of the backend, as "MatMul"
	Kernel string    // entry point and variant, or "copy" or "clear"
	Grid   [3]uint32 // workgroups; zeros where the command is no dispatch
	Submit int       // which submit it was part of
	Begin  float64   // nanoseconds of the device's clock
	End    float64   //
	Sites  []string  // what Mark said of it, and of others of the same step
	Step   int       // counts steps: commands with the same number have the same Sites
}
