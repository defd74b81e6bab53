//go:build cgo && !windows

package cpufast

/*
#cgo LDFLAGS: -lm
#cgo noescape cera_matmul
#cgo nocallback cera_matmul
#cgo noescape cera_attend
#cgo nocallback cera_attend
#cgo noescape cera_act
#cgo nocallback cera_act
#include "kernels_amd64.h"
*/
import "C"

import (
	"unsafe"

	"cera/backend"
	"cera/cpu"
)

// formats are the kernels' numbers of the formats.
var formats = map[backend.Format]C.int{
	backend.F32: C.CERA_F32, backend.F16: C.CERA_F16, backend.BF16: C.CERA_BF16, backend.Q4_0: C.CERA_Q4_0,
	backend.Q4_1: C.CERA_Q4_1, backend.Q5_0: C.CERA_Q5_0, backend.Q5_1: C.CERA_Q5_1, backend.Q8_0: C.CERA_Q8_0,
	backend.Q2_K: C.CERA_Q2_K, backend.Q3_K: C.CERA_Q3_K, backend.Q4_K: C.CERA_Q4_K, backend.Q5_K: C.CERA_Q5_K,
	backend.Q6_K:   C.CERA_Q6_K,
	backend.IQ4_NL: C.CERA_IQ4_NL, backend.IQ4_XS: C.CERA_IQ4_XS, backend.MXFP4: C.CERA_MXFP4,
}

var activations = map[backend.Activation]C.int{
	backend.SiLU: C.CERA_SILU, backend.GELUTanh: C.CERA_GELU_TANH, backend.ClampedSwiGLU: C.CERA_CLAMPED_SWIGLU,
}

// vectors lists the kernels that this processor runs, the best first.
func vectors() []vector {
	var all []vector
	if C.cera_has_avx512() != 0 {
		all = append(all, level("C kernels for AVX-512", 1))
	}
	if C.cera_has_avx2() != 0 {
		all = append(all, level("C kernels for AVX2", 0))
	}
	return all
}

func level(name string, avx512 C.int) vector {
	return vector{
		name: name,
		matmul: func(f backend.Format, w []byte, panel, n, lo, hi int, x []float32, tokens int, dst []float32,
			at []int) {
			C.cera_matmul(avx512, formats[f], (*C.uint8_t)(&w[0]), C.size_t(panel), C.int(n), C.int(lo), C.int(hi),
				floats(x),
				C.int(tokens), floats(dst), (*C.int64_t)(unsafe.Pointer(&at[0])))
		},
		attend: func(a *cpu.Attend, q []float32, k, v cache, heads, positions int, sinks, scores, dst []float32) {
			half := C.int(0)
			if a.Half {
				half = 1
			}
			C.cera_attend(avx512, floats(q), k.start(), v.start(), C.size_t(k.stride), C.size_t(v.stride), half,
				C.int(a.HeadDim),
				C.int(heads), C.int(positions), C.float(a.Scale), C.float(a.Softcap), floats(sinks), floats(scores),
				floats(dst))
		},
		act: func(act backend.Activation, dst, gate, up []float32) {
			C.cera_act(avx512, activations[act], floats(dst), floats(gate), floats(up), C.int(len(dst)))
		},
	}
}

// floats is the C pointer to s, null where s is nil.
func floats(s []float32) *C.float { return (*C.float)(unsafe.SliceData(s)) }

func (c cache) start() *C.uint8_t {
	return (*C.uint8_t)(unsafe.Add(unsafe.Pointer(&c.words[0]), c.skip))
}
