// What Go calls. A panel is 16 rows of a matrix whose blocks are stored side by side, unit by unit (layout.go).
#include <stddef.h>
#include <stdint.h>

enum {
	CERA_F32, CERA_F16, CERA_BF16, CERA_Q4_0, CERA_Q4_1, CERA_Q5_0, CERA_Q5_1, CERA_Q8_0,
	CERA_Q2_K, CERA_Q3_K, CERA_Q4_K, CERA_Q5_K, CERA_Q6_K, CERA_IQ4_NL, CERA_IQ4_XS, CERA_MXFP4,
};
enum { CERA_SILU, CERA_GELU_TANH, CERA_CLAMPED_SWIGLU };

int cera_has_avx512(void);
int cera_has_avx2(void);

// dst[at[t] + r - row0] = sum over k of w[r, k] * x[t, k], for rows row0 to row1-1 of w, whose panels have a size of panel
// bytes and rows of k elements. x holds its tokens 12 at a time, each group as [k][tokens of the group]. tokens: 1 to 252.
void cera_matmul(int avx512, int format, const uint8_t *w, size_t panel, int k, int row0, int row1, const float *x, int tokens,
	float *dst, const int64_t *at);

// Attention of 1 to 4 heads of n elements that share keys and values, over a number of rows of k and v that lie kstride and
// vstride bytes apart. scores: heads rows of positions, rounded up to 16. sinks: one a head, or null.
void cera_attend(int avx512, const float *q, const uint8_t *k, const uint8_t *v, size_t kstride, size_t vstride, int half, int n,
	int heads, int positions, float scale, float cap, const float *sinks, float *scores, float *dst);

// dst = act(gate) * up, or act(gate) where up is null.
void cera_act(int avx512, int act, float *dst, const float *gate, const float *up, int n);
