package backendtest

import (
	"testing"

	"cera/backend"
	"cera/kernelbench"
)

// benchExperts gives every slot its expert in turn, so that all experts are used alike and no cache answers.
func benchExperts(b *testing.B, be backend.Backend, f backend.Format, rows, used, experts, m, k int) {
	data, err := kernelbench.Matrix(f, experts*m, k)
	if err != nil {
		b.Fatal(err)
	}
	w := be.LoadWeight("bench", f, experts*m, k, data)
	slots := rows * used
	lists := make([]backend.Tensor, experts/used)
	for i := range lists {
		list := make([]uint32, slots)
		for s := range list {
			list[s] = uint32((i*used + s) % experts)
		}
		lists[i] = ids(be, list)
	}
	x, y := put(be, rows, k, k, random(1, 1)), poisoned(be, slots, m, m)
	i := 0
	unit, perOp := "GFLOP/s", 2*float64(slots)*float64(m)*float64(k)
	if rows == 1 {
		unit, perOp = "GB/s", float64(slots*m*f.RowBytes(k))
	}
	timed(b, be, perOp, unit, func() { be.ExpertMatMul(y.t, x.t, w, lists[i%len(lists)]); i++ })
	be.FreeWeight(w)
	for _, list := range lists {
		be.Free(list)
	}
	freeAll(x, y)
}

func benchRoute(b *testing.B, be backend.Backend, rows, used, experts int) {
	logits := put(be, rows, experts, experts, random(1, 1))
	picked, shares := poisoned(be, rows, used, used), poisoned(be, rows, used, used)
	p := backend.Router{Used: used, Normalize: true}
	timed(b, be, 4*float64(rows*(experts+2*used)), "GB/s", func() { be.Route(picked.t, shares.t, logits.t, p) })
	freeAll(logits, picked, shares)
}
