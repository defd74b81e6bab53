//go:build cgo

package gpu

import (
	"github.com/cogentcore/webgpu/wgpu"

	"cera/backend"
	"cera/internal/cores"
)

// packed is rows of the encoding in the file, or all as one, as groups of a packing, one row after the other. A group depends on the bytes of its own
// weights alone, so that groups are packed in pieces of any size.
type packed struct {
	packing
	data       []byte // the rows
	rowBytes   int
	rowGroups  int
	groupBytes int // that a group is packed from; the last of a row may have less
}

func (p packing) of(f backend.Format, data []byte, n int) packed {
	if !p.rowwise {
		n = len(data) / f.BlockBytes() * f.Block()
	}
	return packed{p, data, f.RowBytes(n), p.groups(1, n), p.group / f.Block() * f.BlockBytes()}
}

// count returns how many groups the rows have.
func (p packed) count() int { return len(p.data) / p.rowBytes * p.rowGroups }

// sizes returns the bytes of a group's quants and of its scales.
func (p packing) sizes() (quants, scales int) { return p.quants * wordBytes, p.scales * wordBytes }

// packGrain is about how many bytes a core packs at a time: they and what they are packed from stay in its cache.
const packGrain = 32 << 10

// to packs the groups from at on into quants and scales, as many as these hold, on all cores. Both are written once and in
// order, and not read.
func (p packed) to(quants, scales []byte, at int) {
	q, s := p.sizes()
	grain := max(1, packGrain/q)
	cores.Each(len(quants)/q, grain, func(int) func(lo, hi int) {
		qs, ss := make([]uint32, grain*q/wordBytes), make([]uint32, grain*s/wordBytes)
		return func(lo, hi int) {
			for i := lo; i < hi; {
				row, group := (at+i)/p.rowGroups, (at+i)%p.rowGroups
				n := min(hi-i, p.rowGroups-group)
				from := p.data[row*p.rowBytes:][:p.rowBytes][group*p.groupBytes:]
				from = from[:min(n*p.groupBytes, len(from))]
				p.pack(qs[(i-lo)*q/wordBytes:][:n*q/wordBytes], ss[(i-lo)*s/wordBytes:][:n*s/wordBytes], from)
				i += n
			}
			copy(quants[lo*q:hi*q], wgpu.ToBytes(qs))
			copy(scales[lo*s:hi*s], wgpu.ToBytes(ss))
		}
	})
}
