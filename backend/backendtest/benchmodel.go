package backendtest

import (
	"testing"

	"cera/backend"
)

func benchRoute(b *testing.B, be backend.Backend, rows, used, experts int) {
	logits := put(be, rows, experts, experts, random(1, 1))
	picked, shares := poisoned(be, rows, used, used), poisoned(be, rows, used, used)
	p := backend.Router{Used: used, Normalize: true}
	timed(b, be, 4*float64(rows*(experts+2*used)), "GB/s", func() { be.Route(picked.t, shares.t, logits.t, p) })
	freeAll(logits, picked, shares)
}
