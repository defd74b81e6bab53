package backendtest

import (
	"bytes"
	"testing"

	"cera/backend"
	"cera/weights"
)

// benchWeight is a matrix of 64 random rows again and again: zeros would run at another speed. 64 divides m.
func benchWeight(b *testing.B, f backend.Format, m, k int) []byte {
	b.Helper()
	values, value := make([]float32, 64*k), random(4, 1)
	for i := range values {
		values[i] = value(0, i)
	}
	some := make([]byte, 64*f.RowBytes(k))
	if err := weights.Encode(some, f, values); err != nil {
		b.Fatal(err)
	}
	return bytes.Repeat(some, m/64)
}

// benchMatMul cycles through copies of the weight, so that no cache answers.
func benchMatMul(b *testing.B, be backend.Backend, f backend.Format, rows, m, k int) {
	data := benchWeight(b, f, m, k)
	ws := make([]backend.Weight, 4)
	for i := range ws {
		ws[i] = be.LoadWeight("bench", f, m, k, data)
	}
	x, y := put(be, rows, k, k, random(1, 1)), poisoned(be, rows, m, m)
	i := 0
	unit, perOp := "GFLOP/s", 2*float64(rows)*float64(m)*float64(k)
	if rows == 1 {
		unit, perOp = "GB/s", float64(m*f.RowBytes(k))
	}
	timed(b, be, perOp, unit, func() { be.MatMul(y.t, x.t, ws[i%len(ws)]); i++ })
	for _, w := range ws {
		be.FreeWeight(w)
	}
	freeAll(x, y)
}

// benchExperts gives every slot its expert in turn, so that all experts are used alike and no cache answers.
func benchExperts(b *testing.B, be backend.Backend, f backend.Format, rows, used, experts, m, k int) {
	w := be.LoadWeight("bench", f, experts*m, k, benchWeight(b, f, experts*m, k))
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
