package shaders

// Route selects the choice of experts by their logits.
type Route struct{}

// Program implements Variant.
func (Route) Program() Program {
	return Program{
		File:     "route.wgsl",
		Entry:    "route",
		Bindings: []Access{Read, ReadWrite, ReadWrite, Uniform}, // logits, ids, weights, params
	}
}

// RouteParams: offsets and strides are in elements.
type RouteParams struct {
	Rows          uint32
	Experts       uint32 // any number
	Used          uint32 // experts a row takes, at most Experts
	OfPicked      uint32 // not 0: weights are shares of the picked experts' sum, 0: of all experts'
	LogitsOff     uint32 // [rows, experts]
	LogitsStride  uint32
	IDOff         uint32 // [rows, used] u32
	IDStride      uint32
	WeightsOff    uint32 // [rows, used]
	WeightsStride uint32
	Pad0          uint32
	Pad1          uint32
}

// Grid returns the workgroups: one a row.
func (p RouteParams) Grid() Grid { return Fold(int(p.Rows)) }
