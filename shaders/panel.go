package shaders

import "strconv"

// Panel selects the copy of a matrix, decoded, to panels of Width rows each: 32, 64 or 128.
type Panel struct {
	Format string
	Packed bool
	Width  int
	Gather bool // of the rows that tiles of experts' slots want (ExpertSort), of a matrix that is not packed
}

// Program implements Variant.
func (v Panel) Program() Program {
	defines := formatDefine(v.Format)
	defines["WIDTH"] = strconv.Itoa(v.Width) + "u"
	if v.Packed {
		packedDefine(v.Format, defines)
		return Program{
			File: "panel_packed.wgsl", Entry: "panel_packed", Defines: defines,
			Bindings: []Access{Read, Read, ReadWrite, Uniform}, // w, scales, dst, params
		}
	}
	bindings := []Access{Read, ReadWrite, Uniform} // w, dst, params
	if v.Gather {
		defines["GATHER"] = "1"
		bindings = []Access{Read, Read, ReadWrite, Uniform} // w, order, dst, params
	}
	return Program{File: "panel.wgsl", Entry: "panel", Defines: defines, Bindings: bindings}
}

// PanelParams: element K0 + k of row r goes to dst[r/Width, k, r%Width] of [panels, Depth, Width], for every r < Rows, k < Depth and
// K0 + k < K; elsewhere there are zeros. With Gather panel t has the rows of tile t. Offsets and strides are in elements.
type PanelParams struct {
	K        uint32 // row length of w
	Rows     uint32 // with Gather all that the panels have room for
	Off      uint32 // of w, where it is not packed
	Stride   uint32
	Row0     uint32 // first row of w
	RowUnits uint32 // of a packed row: units of 32 elements, in Q8_0 groups of 512
	Depth    uint32 // a multiple of 4
	K0       uint32 // a multiple of 4
	Slots    uint32 // with Gather
	PerRow   uint32 // with Gather: slots that share a row of w
	Pad0     uint32
	Pad1     uint32
}

const (
	panelDeep  = 32  // elements of a row that a workgroup copies of a matrix that is not packed
	panelUnits = 128 // of four rows each that a workgroup copies of a packed one
)

// Grid returns the workgroups: one for each panel and stretch of its rows.
func (v Panel) Grid(p PanelParams) Grid {
	across, deeps := ceilDiv(p.Rows, uint32(v.Width)), ceilDiv(p.Depth, panelDeep)
	if v.Packed {
		stretch, units := uint32(PackedGroup/PackedLanes), uint32(1)
		if _, ok := FormOf(v.Format); !ok { // Q8_0: 32 units make a group
			stretch, units = GroupQ8_0, PackedLanes
		}
		units *= uint32(ceilDiv(p.K0+p.Depth, stretch)) - p.K0/stretch
		deeps = ceilDiv(units, uint32(panelUnits/(v.Width/4)))
	}
	return Fold(across * deeps)
}
