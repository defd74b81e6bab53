package shaders

// RMSNormBatch selects an entry point of rmsnorm_batch.wgsl: the norm alone, or (Add) the norm of src + residual,
// with the sum written back to src. Form says how rows are read.
type RMSNormBatch struct {
	Add  bool
	Form NormForm
}

// Program implements Variant.
func (v RMSNormBatch) Program() Program {
	p := Program{
		File:     "rmsnorm_batch.wgsl",
		Entry:    "rmsnorm_batch",
		Defines:  v.Form.defines(nil),
		Bindings: []Access{ReadWrite, ReadWrite, Read, Read}, // src, dst, w, params
	}
	if v.Add {
		p.Entry = "add_rmsnorm_batch"
		p.Bindings = append(p.Bindings, Read) // residual
	}
	return p
}

// RMSNormBatchParams is the vec4<u32> that the kernel reads from a storage binding. It has no row count: past
// MaxGridDim rows Grid may cover a few more than there are, and the kernel leaves out each row that does not lie
// wholly inside src, residual and dst as they are bound. So where a grid is folded, one of them must be bound to
// exactly the rows to be normalised.
type RMSNormBatchParams struct {
	N         uint32 // row length in elements
	EpsBits   uint32 // bits of the f32 epsilon
	SrcStride uint32 // elements from one row of src (and residual) to the next
	DstStride uint32 // the same for dst
}

// Grid returns the workgroups for rows rows: one a row.
func (RMSNormBatchParams) Grid(rows int) Grid { return Fold(rows) }
