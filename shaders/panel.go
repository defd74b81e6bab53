package shaders

import "strconv"

// Panel selects the copy of a matrix, decoded, to panels of Width rows each, a multiple of 32.
type Panel struct {
	Format string
	Packed bool
	Width  int
}

// Program implements Variant.
func (v Panel) Program() Program {
	defines := formatDefine(v.Format)
	defines["WIDTH"] = strconv.Itoa(v.Width) + "u"
	bindings := []Access{Read, ReadWrite, Uniform} // w, dst, params
	if v.Packed {
		packedDefine(v.Format, defines)
		bindings = []Access{Read, Read, ReadWrite, Uniform} // w, scales, dst, params
	}
	return Program{File: "panel.wgsl", Entry: "panel", Defines: defines, Bindings: bindings}
}

// PanelParams: element k of row r goes to dst[r/Width, k, r%Width] of [panels, Depth, Width], for every r < Rows and
// k < K; elsewhere there are zeros. Offsets and strides are in elements.
type PanelParams struct {
	K        uint32 // row length of w
	Rows     uint32
	Off      uint32 // of w, where it is not packed
	Stride   uint32
	Row0     uint32 // first row of w
	RowUnits uint32 // of a packed row: units of 32 elements, in Q8_0 groups of 512
	Depth    uint32 // K or more, a multiple of 4
	Pad0     uint32
}

// panelDeep is how many elements of a row one workgroup copies.
const panelDeep = 32

// Grid returns the workgroups: one for each panel and panelDeep elements of its rows.
func (v Panel) Grid(p PanelParams) Grid {
	return Fold(ceilDiv(p.Rows, uint32(v.Width)) * ceilDiv(p.Depth, panelDeep))
}

// Words returns how many words the panels take.
func (v Panel) Words(p PanelParams) int {
	return ceilDiv(p.Rows, uint32(v.Width)) * v.Width * int(p.Depth)
}
