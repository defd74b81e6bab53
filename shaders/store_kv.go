package shaders

// StoreKV selects the copy of new keys and values into the cache, as they are or as halves.
type StoreKV struct{ Half bool }

// Program implements Variant.
func (v StoreKV) Program() Program {
	return Program{
		File:     "store_kv.wgsl",
		Entry:    "store_kv",
		Defines:  halfDefine(v.Half),
		Bindings: []Access{Read, Read, Read, ReadWrite, ReadWrite, Uniform}, // k, v, pos, kc, vc, params
	}
}

// halfDefine says that a cache holds halves.
func halfDefine(half bool) map[string]string {
	if half {
		return map[string]string{"HALF": "1"}
	}
	return map[string]string{}
}

// StoreKVParams copies row r of k and v, N elements each, to row pos[r] of the caches.
type StoreKVParams struct {
	Rows     uint32
	N        uint32 // nKV*headDim
	KOff     uint32
	KStride  uint32
	VOff     uint32
	VStride  uint32
	PosOff   uint32 // [rows] u32
	KCOff    uint32 // words
	KCStride uint32
	VCOff    uint32
	VCStride uint32
	Pad      uint32
}

// Grid returns the workgroups: one a row.
func (p StoreKVParams) Grid() Grid { return Fold(int(p.Rows)) }
