//go:build cgo && !windows

// The kernels in C. matmul.h and attention.h are written in terms of a few vector operations and are compiled once for
// AVX-512 and once for AVX2; which of the two runs is decided when a backend is opened. Nothing here is called on a
// processor without it.
#include "kernels_amd64.h"
#include <cpuid.h>
#include <immintrin.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#define JOIN2(a, b) a##_##b
#define JOIN(a, b) JOIN2(a, b)
#define FN(name) JOIN(name, LEVEL)
#define INLINE static inline __attribute__((always_inline, target(TARGET)))
#define KERNEL static __attribute__((noinline, target(TARGET)))

// The values of four-bit codes: Q4_1, Q5_1, Q4_K and Q5_K; Q4_0; Q5_0, without its fifth bit; IQ4_NL and IQ4_XS; twice those of
// MXFP4.
static const float codes_u4[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
static const float codes_q4[16] = {-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7};
static const float codes_q5[16] = {-16, -15, -14, -13, -12, -11, -10, -9, -8, -7, -6, -5, -4, -3, -2, -1};
static const float codes_iq4[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
static const float codes_fp4[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

#define LEVEL avx512
#define TARGET "avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c"
#define W 16       // lanes of a vector
#define TOKENS 12  // of a tile, with two vectors of rows: 24 of the 32 registers
#define SPAN 4     // vectors of values that attention sums at a time, for four heads
typedef float vf_avx512 __attribute__((vector_size(64)));
typedef int vi_avx512 __attribute__((vector_size(64)));
INLINE vf_avx512 halves_avx512(const void *p) { return _mm512_cvtph_ps(_mm256_loadu_si256(p)); }
INLINE vi_avx512 words16_avx512(const void *p) { return (vi_avx512)_mm512_cvtepu16_epi32(_mm256_loadu_si256(p)); }
INLINE vi_avx512 bytes_avx512(const void *p) { return (vi_avx512)_mm512_cvtepu8_epi32(_mm_loadu_si128(p)); }
INLINE vi_avx512 chars_avx512(const void *p) { return (vi_avx512)_mm512_cvtepi8_epi32(_mm_loadu_si128(p)); }
// code looks up nibble i of each word.
INLINE vf_avx512 code_avx512(const float *codes, vi_avx512 q, int i) {
	return _mm512_permutexvar_ps((__m512i)(q >> (4 * i)), _mm512_loadu_ps(codes));
}
INLINE vf_avx512 round_avx512(vf_avx512 v) { return _mm512_roundscale_ps(v, 8); }
INLINE float sum_avx512(vf_avx512 v) { return _mm512_reduce_add_ps(v); }
INLINE float largest_avx512(vf_avx512 v) { return _mm512_reduce_max_ps(v); }
#include "matmul.h"
#include "attention.h"
#undef LEVEL
#undef TARGET
#undef W
#undef TOKENS
#undef SPAN

#define LEVEL avx2
#define TARGET "avx2,fma,f16c"
#define W 8
#define TOKENS 6 // 12 of the 16 registers
#define SPAN 2
typedef float vf_avx2 __attribute__((vector_size(32)));
typedef int vi_avx2 __attribute__((vector_size(32)));
INLINE vf_avx2 halves_avx2(const void *p) { return _mm256_cvtph_ps(_mm_loadu_si128(p)); }
INLINE vi_avx2 words16_avx2(const void *p) { return (vi_avx2)_mm256_cvtepu16_epi32(_mm_loadu_si128(p)); }
INLINE vi_avx2 bytes_avx2(const void *p) { return (vi_avx2)_mm256_cvtepu8_epi32(_mm_loadl_epi64(p)); }
INLINE vi_avx2 chars_avx2(const void *p) { return (vi_avx2)_mm256_cvtepi8_epi32(_mm_loadl_epi64(p)); }
INLINE vf_avx2 code_avx2(const float *codes, vi_avx2 q, int i) {
	if (codes == codes_u4)
		return __builtin_convertvector((q >> (4 * i)) & 15, vf_avx2);
	if (codes == codes_q4) // as a signed nibble
		return __builtin_convertvector(((q ^ (int)0x88888888) << (28 - 4 * i)) >> 28, vf_avx2);
	__m256i at = (__m256i)(q >> (4 * i));
	return _mm256_blendv_ps(_mm256_permutevar8x32_ps(_mm256_loadu_ps(codes), at),
		_mm256_permutevar8x32_ps(_mm256_loadu_ps(codes + 8), at), (__m256)(q << (28 - 4 * i)));
}
INLINE vf_avx2 round_avx2(vf_avx2 v) { return _mm256_round_ps(v, 8); }
INLINE float sum_avx2(vf_avx2 v) {
	__m128 h = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
	h = _mm_add_ps(h, _mm_movehl_ps(h, h));
	return _mm_cvtss_f32(_mm_add_ss(h, _mm_movehdup_ps(h)));
}
INLINE float largest_avx2(vf_avx2 v) {
	__m128 h = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
	h = _mm_max_ps(h, _mm_movehl_ps(h, h));
	return _mm_cvtss_f32(_mm_max_ss(h, _mm_movehdup_ps(h)));
}
#include "matmul.h"
#include "attention.h"

int cera_has_avx512(void) {
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
		__builtin_cpu_supports("avx512dq") && cera_has_avx2();
}

int cera_has_avx2(void) {
	unsigned a, b, c, d; // not every compiler knows the name of f16c
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}

void cera_matmul(int avx512, int format, const uint8_t *w, size_t panel, int k, int row0, int row1, const float *x, int tokens,
	float *dst, const int64_t *at) {
	if (avx512)
		matmul_avx512(format, w, panel, k, row0, row1, x, tokens, dst, at);
	else
		matmul_avx2(format, w, panel, k, row0, row1, x, tokens, dst, at);
}

void cera_attend(int avx512, const float *q, const uint8_t *k, const uint8_t *v, size_t kstride, size_t vstride, int half, int n,
	int heads, int positions, float scale, float cap, const float *sinks, float *scores, float *dst) {
	if (avx512)
		attend_avx512(q, k, v, kstride, vstride, half, n, heads, positions, scale, cap, sinks, scores, dst);
	else
		attend_avx2(q, k, v, kstride, vstride, half, n, heads, positions, scale, cap, sinks, scores, dst);
}

void cera_act(int avx512, int act, float *dst, const float *gate, const float *up, int n) {
	if (avx512)
		gated_avx512(act, dst, gate, up, n);
	else
		gated_avx2(act, dst, gate, up, n);
}
