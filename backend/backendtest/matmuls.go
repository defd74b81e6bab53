package backendtest

import (
	"fmt"
	"math"
	"testing"

	"cera/backend"
	"cera/check"
)

// expectMatMul compares an output with x·wᵀ.
func expectMatMul(t *testing.T, what string, dst, x *operand, w *matrix) {
	t.Helper()
	dst.expect(t, what, func(r, o int) (float64, float64) {
		var sum, abs float64
		for i := range w.n {
			p := float64(x.at(r, i)) * float64(w.at(o, i))
			sum += p
			abs += math.Abs(p)
		}
		return sum, check.DotBound(w.n, abs)
	})
}

// testMatMuls multiplies x with several weights, joined and not, and in any order of use.
func testMatMuls(t *testing.T, be backend.Backend) {
	type three = [3]backend.Format
	var formats []three
	for _, f := range []backend.Format{backend.F32, backend.F16, backend.BF16, backend.Q8_0, backend.Q4_0, backend.Q4_K,
		backend.Q6_K} {
		formats = append(formats, three{f, f, f})
	}
	formats = append(formats, three{backend.Q4_K, backend.Q4_K, backend.Q6_K}, three{backend.Q6_K, backend.Q4_K, backend.Q4_K},
		three{backend.Q4_K, backend.Q6_K, backend.Q4_K})
	for _, f := range formats {
		for _, k := range []int{256, 1024, 2304} {
			for _, join := range []bool{false, true} {
				ws := []*matrix{encode(t, be, f[0], 26, k, 1), encode(t, be, f[1], 9, k, 2), encode(t, be, f[2], 9, k, 3)}
				list := []backend.Weight{ws[0].w, ws[1].w, ws[2].w}
				if join {
					be.Join(list...)
				}
				for _, rows := range []int{1, 2, 5, 8, 11} {
					what := fmt.Sprintf("%v, k %d, %d rows, joined %v", f, k, rows, join)
					x := put(be, rows, k, k+4, random(4, 1))
					var dst []*operand
					var out []backend.Tensor
					for i, w := range ws {
						o := poisoned(be, rows, w.w.Rows(), w.w.Rows()+i)
						dst, out = append(dst, o), append(out, o.t)
					}
					be.MatMuls(out, x.t, list)
					for i, w := range ws {
						expectMatMul(t, fmt.Sprintf("%s, weight %d", what, i), dst[i], x, w)
					}
					// One of them by itself.
					alone := poisoned(be, rows, 9, 12)
					be.MatMul(alone.t, x.t, list[1])
					expectMatMul(t, what+", one alone", alone, x, ws[1])
					x.unchanged(t, what)
					for _, o := range append(dst, x, alone) {
						o.free()
					}
				}
				// One goes, the others stay.
				be.FreeWeight(list[0])
				x, alone := put(be, 1, k, k, random(5, 1)), poisoned(be, 1, 9, 9)
				be.MatMul(alone.t, x.t, list[2])
				expectMatMul(t, fmt.Sprintf("%v, k %d, joined %v, after another was freed", f, k, join), alone, x,
					ws[2])
				x.free()
				alone.free()
				be.FreeWeight(list[1])
				be.FreeWeight(list[2])
			}
		}
	}
}

func testGatedMatMul(t *testing.T, be backend.Backend) {
	for _, act := range []backend.Activation{backend.SiLU, backend.GELUTanh, backend.ClampedSwiGLU} {
		for _, f := range []backend.Format{backend.F32, backend.Q4_0, backend.Q8_0} {
			for _, join := range []bool{false, true} {
				const k, m = 1024, 21
				g, u := encode(t, be, f, m, k, 1), encode(t, be, f, m, k, 2)
				if join {
					be.Join(g.w, u.w)
				}
				for _, rows := range []int{1, 3, 8, 10} {
					what := fmt.Sprintf("%v, %v, %d rows, joined %v", act, f, rows, join)
					x := put(be, rows, k, k, random(3, 0.05))
					gate, up, dst := poisoned(be, rows, m, m+1), poisoned(be, rows, m, m), poisoned(be, rows, m, m+3)
					be.GatedMatMul(dst.t, gate.t, up.t, x.t, g.w, u.w, act)
					expectMatMul(t, what+": gate", gate, x, g)
					expectMatMul(t, what+": up", up, x, u)
					// The activation is checked against what the op itself made of gate and up.
					gs, us := make([]float32, rows*(m+1)), make([]float32, rows*m)
					if err := be.Read(gs, gate.whole()); err != nil {
						t.Fatal(err)
					}
					if err := be.Read(us, up.whole()); err != nil {
						t.Fatal(err)
					}
					dst.expect(t, what, func(r, i int) (float64, float64) {
						return check.GatedBound(act, float64(gs[r*(m+1)+i]), float64(us[r*m+i]))
					})
					for _, o := range []*operand{x, gate, up, dst} {
						o.free()
					}
				}
				be.FreeWeight(g.w)
				be.FreeWeight(u.w)
			}
		}
	}
}
