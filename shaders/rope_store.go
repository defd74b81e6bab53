package shaders

import "maps"

// RoPEStore selects RoPE of queries and keys and the store of keys and values, in one.
type RoPEStore struct {
	Style string // see RoPE
	Half  bool   // see StoreKV
}

// Program implements Variant.
func (v RoPEStore) Program() Program {
	defines := RoPE{v.Style}.Program().Defines
	maps.Copy(defines, halfDefine(v.Half))
	return Program{
		File: "rope_store.wgsl", Entry: "rope_store", Defines: defines,
		Bindings: []Access{ReadWrite, ReadWrite, Read, Read, Read, ReadWrite, ReadWrite, Uniform}, // q, k, v, pos, table, kc, vc, params
	}
}

// RoPEStoreParams: see RoPEParams and StoreKVParams.
type RoPEStoreParams struct {
	Rows     uint32 // tokens
	NHead    uint32 // of queries
	NKV      uint32 // heads of keys, and of values
	HeadDim  uint32 // elements a head, even where the cache holds halves
	RotDim   uint32
	QOff     uint32
	QStride  uint32
	KOff     uint32
	KStride  uint32
	VOff     uint32
	VStride  uint32
	PosOff   uint32 // [rows] u32
	TableOff uint32
	KCOff    uint32 // words
	KCStride uint32
	VCOff    uint32
	VCStride uint32
	Pad0     uint32
	Pad1     uint32
	Pad2     uint32
}

// Grid returns the workgroups: one for each row and head.
func (p RoPEStoreParams) Grid() Grid { return Fold(int(p.Rows) * int(p.NHead+2*p.NKV)) }
