// Matrix products in terms of vectors of W floats: included by kernels_amd64.c once for each level. Products that are added are
// contracted to a fused multiply-add, which every level has.
//
// A matrix is worked on W rows at a time, a lane each: then no sum runs across lanes, and every row length will do.

#define vf FN(vf)
#define vi FN(vi)
#define LD (2 * W)   // floats from one element to the next of decoded weights: two vectors of rows
#define CHUNK 256    // elements decoded at a time: the weights of two vectors of rows stay in the first cache
#define GROUP 12     // tokens that lie side by side in x
#define MOST 252     // tokens of a call
#define AHEAD 4096   // bytes from what is read to what is fetched

#define UNROLL _Pragma("GCC unroll 16")

INLINE vf FN(load)(const void *p) {
	vf v;
	memcpy(&v, p, sizeof v);
	return v;
}
INLINE vi FN(loadi)(const void *p) {
	vi v;
	memcpy(&v, p, sizeof v);
	return v;
}
// loadahead is loadi that fetches ahead, which the processor's own prefetching does not do far enough.
INLINE vi FN(loadahead)(const uint8_t *p) {
	__builtin_prefetch((const void *)((uintptr_t)p + AHEAD));
	return FN(loadi)(p);
}
INLINE void FN(store)(void *p, vf v) { memcpy(p, &v, sizeof v); }
INLINE vf FN(float)(vi v) { return __builtin_convertvector(v, vf); }
INLINE vf FN(pick)(vi mask, vf a, vf b) { return (vf)(((vi)a & mask) | ((vi)b & ~mask)); }

// put takes element k of a block, level * scale in each row: level times x[k] is added to one of four sums or, where sum is
// null, the element goes to out. Which of the two is known where this is compiled.
INLINE void FN(put)(vf level, vf scale, int k, const float *x, float *out, vf *sum) {
	if (sum)
		sum[k & 3] += level * x[k];
	else
		FN(store)(out + k * LD, level * scale);
}

INLINE vf FN(total)(const vf *sum) { return (sum[0] + sum[1]) + (sum[2] + sum[3]); }

// Each of the following takes one block of W rows, which starts at byte b of the panel, from lane from on. It writes the
// block's elements to out, LD apart, or, where acc is not null, adds their products with x to *acc.

// nibbles is a run of 32 four-bit codes under one scale: word w holds elements 4w to 4w+3 in its low nibbles, and those 16
// further in its high ones.
INLINE void FN(nibbles)(const uint8_t *b, int from, vf scale, const float *codes, const float *x, float *out, vf *acc) {
	vf sum[4] = {};
	UNROLL for (int w = 0; w < 4; w++) {
		vi q = FN(loadahead)(b + 64 * w + 4 * from);
		UNROLL for (int i = 0; i < 8; i++)
			FN(put)(FN(code)(codes, q, i), scale, 4 * w + i / 2 + i % 2 * 16, x, out, acc ? sum : 0);
	}
	if (acc)
		*acc += scale * FN(total)(sum);
}

INLINE void FN(q4_0)(const uint8_t *b, int from, const float *x, float *out, vf *acc) {
	FN(nibbles)(b + 32, from, FN(halves)(b + 2 * from), codes_q4, x, out, acc);
}

INLINE void FN(iq4_nl)(const uint8_t *b, int from, const float *x, float *out, vf *acc) {
	FN(nibbles)(b + 32, from, FN(halves)(b + 2 * from), codes_iq4, x, out, acc);
}

// levels is Q4_1, Q5_0 or Q5_1: with a minimum or without, with a word of fifth bits or without. Levels and minima may cancel,
// so the elements are put together as a decoder does, with one rounding, and not summed apart.
INLINE void FN(levels)(const uint8_t *b, int from, int minimum, int fifth, const float *x, float *out, vf *acc) {
	vf d = FN(halves)(b + 2 * from), m = {}, sum[4] = {}, one = 1 + 0 * (vf){};
	vi high = {};
	b += 32;
	if (minimum)
		m = FN(halves)(b + 2 * from), b += 32;
	if (fifth)
		high = FN(loadi)(b + 4 * from), b += 64;
	UNROLL for (int w = 0; w < 4; w++) {
		vi q = FN(loadahead)(b + 64 * w + 4 * from);
		UNROLL for (int i = 0; i < 8; i++) {
			int k = 4 * w + i / 2 + i % 2 * 16;
			vf level = FN(code)(minimum ? codes_u4 : codes_q5, q, i);
			if (fifth)
				level += FN(float)(((high >> k) & 1) << 4);
			if (minimum)
				FN(put)(level * d + m, one, k, x, out, acc ? sum : 0);
			else
				FN(put)(level, d, k, x, out, acc ? sum : 0);
		}
	}
	if (acc && minimum)
		*acc += FN(total)(sum);
	else if (acc)
		*acc += d * FN(total)(sum);
}

INLINE void FN(q4_1)(const uint8_t *b, int from, const float *x, float *out, vf *acc) {
	FN(levels)(b, from, 1, 0, x, out, acc);
}

INLINE void FN(q5_0)(const uint8_t *b, int from, const float *x, float *out, vf *acc) {
	FN(levels)(b, from, 0, 1, x, out, acc);
}

INLINE void FN(q5_1)(const uint8_t *b, int from, const float *x, float *out, vf *acc) {
	FN(levels)(b, from, 1, 1, x, out, acc);
}

INLINE void FN(mxfp4)(const uint8_t *b, int from, const float *x, float *out, vf *acc) {
	vi e = FN(bytes)(b + from);
	// 2^(e-128); the smallest two are subnormal.
	vf scale = FN(pick)(e > 1, (vf)((e - 1) << 23), (vf)((0x00200000 + 0 * e) << (e & 1)));
	FN(nibbles)(b + 16, from, scale, codes_fp4, x, out, acc);
}

INLINE void FN(iq4_xs)(const uint8_t *b, int from, const float *x, float *out, vf *acc) {
	vf d = FN(halves)(b + 2 * from);
	vi high = FN(words16)(b + 32 + 2 * from), low = FN(loadi)(b + 64 + 4 * from);
	for (int run = 0; run < 8; run++) {
		vi s = (((low >> (4 * run)) & 15) | (((high >> (2 * run)) & 3) << 4)) - 32;
		FN(nibbles)(b + 128 + 256 * run, from, d * FN(float)(s), codes_iq4, x + 32 * run, out + 32 * run * LD, acc);
	}
}

INLINE void FN(q8_0)(const uint8_t *b, int from, const float *x, float *out, vf *acc) {
	vf d = FN(halves)(b + 2 * from), sum[4] = {};
	UNROLL for (int i = 0; i < 32; i += 4)
		__builtin_prefetch((const void *)((uintptr_t)b + AHEAD + 16 * i)); // as loadahead
	UNROLL for (int i = 0; i < 32; i++)
		FN(put)(FN(float)(FN(chars)(b + 32 + 16 * i + from)), d, i, x, out, acc ? sum : 0);
	if (acc)
		*acc += d * FN(total)(sum);
}

// q45_k is Q4_K, and Q5_K where there are fifth bits: eight words of them before the levels. Levels and minima may cancel, as
// in Q4_1.
INLINE void FN(q45_k)(const uint8_t *b, int from, const uint8_t *high, const uint8_t *levels, const float *x, float *out, vf *acc) {
	vf d = FN(halves)(b + 2 * from), m = FN(halves)(b + 32 + 2 * from), sum[4] = {}, one = 1 + 0 * (vf){};
	vi s0 = FN(loadi)(b + 64 + 4 * from), s1 = FN(loadi)(b + 128 + 4 * from), s2 = FN(loadi)(b + 192 + 4 * from);
	for (int pair = 0; pair < 4; pair++) { // of runs, whose levels share bytes
		vf factor[2], minus[2];
		UNROLL for (int i = 0; i < 2; i++) {
			int byte = (2 * pair + i) % 4 * 8; // of the three words of scales and minima
			vi scale = (s0 >> byte) & 63, low = (s1 >> byte) & 63;
			if (pair >= 2) {
				scale = ((s2 >> byte) & 15) | (((s0 >> (byte + 6)) & 3) << 4);
				low = ((s2 >> (byte + 4)) & 15) | (((s1 >> (byte + 6)) & 3) << 4);
			}
			factor[i] = d * FN(float)(scale), minus[i] = m * FN(float)(low);
		}
		for (int w = 0; w < 8; w++) {
			vi q = FN(loadahead)(levels + 64 * (8 * pair + w) + 4 * from), fifth = q;
			if (high)
				fifth = FN(loadi)(high + 64 * w + 4 * from) >> (2 * pair);
			UNROLL for (int i = 0; i < 8; i++) {
				vf level = FN(code)(codes_u4, q, i);
				if (high)
					level += FN(float)((fifth >> (i / 2 * 8 + i % 2) & 1) << 4);
				int k = 4 * w + i / 2 + i % 2 * 32;
				FN(put)(level * factor[i % 2] - minus[i % 2], one, k, x + 64 * pair, out + 64 * pair * LD, acc ? sum : 0);
			}
		}
	}
	if (acc)
		*acc += FN(total)(sum);
}

INLINE void FN(q4_k)(const uint8_t *b, int from, const float *x, float *out, vf *acc) {
	FN(q45_k)(b, from, 0, b + 256, x, out, acc);
}

INLINE void FN(q5_k)(const uint8_t *b, int from, const float *x, float *out, vf *acc) {
	FN(q45_k)(b, from, b + 256, b + 768, x, out, acc);
}

INLINE void FN(q6_k)(const uint8_t *b, int from, const float *x, float *out, vf *acc) {
	vf d = FN(halves)(b + 3328 + 2 * from);
	for (int run = 0; run < 16; run++) {
		int upper = run / 8, quarter = run / 2 % 4, first = run % 2 * 16; // place of the run in its 128 elements
		vi s = FN(loadi)(b + 3072 + 64 * (run / 4) + 4 * from);
		vf scale = d * FN(float)((s << (24 - run % 4 * 8)) >> 24), sum[4] = {};
		const float *xr = x + 16 * run;
		float *outr = out + 16 * run * LD;
		for (int w = 0; w < 4; w++) {
			vi low = FN(loadahead)(b + 64 * (16 * upper + quarter % 2 * 8 + first / 4 + w) + 4 * from) >> (quarter / 2 * 4);
			vi high = FN(loadahead)(b + 2048 + 64 * (8 * upper + first / 4 + w) + 4 * from) >> (2 * quarter) << 4;
			UNROLL for (int i = 0; i < 4; i++)
				FN(put)(FN(float)((((low >> (8 * i)) & 15) | ((high >> (8 * i)) & 48)) - 32), scale, 4 * w + i, xr, outr, acc ? sum : 0);
		}
		if (acc)
			*acc += scale * FN(total)(sum);
	}
}

// q2_k puts elements together as Q4_1 does.
INLINE void FN(q2_k)(const uint8_t *b, int from, const float *x, float *out, vf *acc) {
	vf d = FN(halves)(b + 1280 + 2 * from), m = FN(halves)(b + 1312 + 2 * from), sum[4] = {}, one = 1 + 0 * (vf){};
	for (int run = 0; run < 16; run++) {
		vi s = FN(loadi)(b + 64 * (run / 4) + 4 * from) >> (run % 4 * 8);
		vf scale = d * FN(float)(s & 15), low = m * FN(float)((s >> 4) & 15);
		const uint8_t *first = b + 256 + 64 * (run / 8 * 8 + run % 2 * 4);
		for (int w = 0; w < 4; w++) {
			vi q = FN(loadahead)(first + 64 * w + 4 * from) >> (run / 2 % 4 * 2);
			UNROLL for (int i = 0; i < 4; i++)
				FN(put)(FN(float)((q >> (8 * i)) & 3) * scale - low, one, 4 * w + i, x + 16 * run, out + 16 * run * LD, acc ? sum : 0);
		}
	}
	if (acc)
		*acc += FN(total)(sum);
}

INLINE void FN(q3_k)(const uint8_t *b, int from, const float *x, float *out, vf *acc) {
	vf d = FN(halves)(b + 1728 + 2 * from);
	for (int run = 0; run < 16; run++) {
		vi low = FN(loadi)(b + 1536 + 64 * (run % 8 / 4) + 4 * from) >> (run % 4 * 8 + run / 8 * 4);
		vi high = FN(loadi)(b + 1536 + 64 * 2 + 4 * from) >> (run % 4 * 8 + run / 4 * 2);
		vf scale = d * FN(float)(((low & 15) | ((high & 3) << 4)) - 32), sum[4] = {};
		const uint8_t *first = b + 512 + 64 * (run / 8 * 8 + run % 2 * 4), *third = b + 64 * (run % 2 * 4);
		for (int w = 0; w < 4; w++) {
			vi q = FN(loadahead)(first + 64 * w + 4 * from) >> (run / 2 % 4 * 2);
			vi t = FN(loadi)(third + 64 * w + 4 * from) >> (run / 2) << 2;
			UNROLL for (int i = 0; i < 4; i++) {
				vf level = FN(float)((((q >> (8 * i)) & 3) | ((t >> (8 * i)) & 4)) - 4);
				FN(put)(level, scale, 4 * w + i, x + 16 * run, out + 16 * run * LD, acc ? sum : 0);
			}
		}
		if (acc)
			*acc += scale * FN(total)(sum);
	}
}

// Formats without blocks: one element.
INLINE void FN(f32)(const uint8_t *b, int from, const float *x, float *out, vf *acc) {
	FN(put)(FN(load)(b + 4 * from), 1 + 0 * (vf){}, 0, x, out, acc);
}
INLINE void FN(f16)(const uint8_t *b, int from, const float *x, float *out, vf *acc) {
	FN(put)(FN(halves)(b + 2 * from), 1 + 0 * (vf){}, 0, x, out, acc);
}
INLINE void FN(bf16)(const uint8_t *b, int from, const float *x, float *out, vf *acc) {
	FN(put)((vf)(FN(words16)(b + 2 * from) << 16), 1 + 0 * (vf){}, 0, x, out, acc);
}

// For each format: decode writes elements k0 to k1-1 of W rows, dot sums their products with x, in turn to some of four sums.
#define FORMAT(name, block, bytes, turns)                                                                                \
	KERNEL void FN(decode_##name)(const uint8_t *w, int from, int k0, int k1, float *out) {                                \
		for (int k = k0; k < k1; k += block)                                                                                 \
			FN(name)(w + (size_t)(k / block) * (16 * bytes), from, 0, out + (k - k0) * LD, 0);                                 \
	}                                                                                                                      \
	KERNEL vf FN(dot_##name)(const uint8_t *w, int from, int k, const float *x) {                                          \
		vf acc[4] = {};                                                                                                      \
		const uint8_t *end = w + (size_t)(k / block) * (16 * bytes);                                                         \
		for (; end - w >= turns * 16 * bytes; w += turns * 16 * bytes, x += turns * block)                                   \
			UNROLL for (int i = 0; i < turns; i++)                                                                             \
				FN(name)(w + i * 16 * bytes, from, x + i * block, 0, acc + i);                                                   \
		for (; turns > 1 && w < end; w += 16 * bytes, x += block)                                                            \
			FN(name)(w, from, x, 0, acc);                                                                                      \
		return FN(total)(acc);                                                                                               \
	}
FORMAT(f32, 1, 4, 4)
FORMAT(f16, 1, 2, 4)
FORMAT(bf16, 1, 2, 4)
FORMAT(q4_0, 32, 18, 1)
FORMAT(q4_1, 32, 20, 1)
FORMAT(q5_0, 32, 22, 1)
FORMAT(q5_1, 32, 24, 1)
FORMAT(q8_0, 32, 34, 1)
FORMAT(q2_k, 256, 84, 1)
FORMAT(q3_k, 256, 110, 1)
FORMAT(q4_k, 256, 144, 1)
FORMAT(q5_k, 256, 176, 1)
FORMAT(q6_k, 256, 210, 1)
FORMAT(iq4_nl, 32, 18, 1)
FORMAT(iq4_xs, 256, 136, 1)
FORMAT(mxfp4, 32, 17, 1)

// By the enumeration's numbers.
#define EACH(of)                                                                                                         \
	[CERA_F32] = FN(of##_f32), [CERA_F16] = FN(of##_f16), [CERA_BF16] = FN(of##_bf16), [CERA_Q4_0] = FN(of##_q4_0),        \
	[CERA_Q4_1] = FN(of##_q4_1), [CERA_Q5_0] = FN(of##_q5_0), [CERA_Q5_1] = FN(of##_q5_1), [CERA_Q8_0] = FN(of##_q8_0),    \
	[CERA_Q2_K] = FN(of##_q2_k), [CERA_Q3_K] = FN(of##_q3_k), [CERA_Q4_K] = FN(of##_q4_k), [CERA_Q5_K] = FN(of##_q5_k),    \
	[CERA_Q6_K] = FN(of##_q6_k), [CERA_IQ4_NL] = FN(of##_iq4_nl), [CERA_IQ4_XS] = FN(of##_iq4_xs),                         \
	[CERA_MXFP4] = FN(of##_mxfp4)
static void (*const FN(decode)[])(const uint8_t *, int, int, int, float *) = {EACH(decode)};
static vf (*const FN(dot)[])(const uint8_t *, int, int, const float *) = {EACH(dot)};

// tile adds the products of two vectors of rows with n tokens, of which x has one element every stride floats, to sums.
INLINE void FN(tile)(const float *w, const float *x, int stride, int k, float *sums, int n) {
	vf acc[TOKENS][2];
	UNROLL for (int t = 0; t < n; t++) {
		acc[t][0] = FN(load)(sums + t * LD);
		acc[t][1] = FN(load)(sums + t * LD + W);
	}
	for (; k > 0; k--, w += LD, x += stride) {
		vf a = FN(load)(w), b = FN(load)(w + W);
		UNROLL for (int t = 0; t < n; t++) {
			acc[t][0] += a * x[t];
			acc[t][1] += b * x[t];
		}
	}
	UNROLL for (int t = 0; t < n; t++) {
		FN(store)(sums + t * LD, acc[t][0]);
		FN(store)(sums + t * LD + W, acc[t][1]);
	}
}

// tiles is tile for any number of tokens of a group.
KERNEL void FN(tiles)(const float *w, const float *x, int stride, int k, float *sums, int n) {
	for (int t = 0; t < n;) {
		const float *xt = x + t;
		float *st = sums + t * LD;
		if (n - t >= TOKENS)
			FN(tile)(w, xt, stride, k, st, TOKENS), t += TOKENS;
#if TOKENS > 8
		else if (n - t >= 8)
			FN(tile)(w, xt, stride, k, st, 8), t += 8;
#endif
		else if (n - t >= 4)
			FN(tile)(w, xt, stride, k, st, 4), t += 4;
		else if (n - t >= 2)
			FN(tile)(w, xt, stride, k, st, 2), t += 2;
		else
			FN(tile)(w, xt, stride, k, st, 1), t++;
	}
}

// rows writes what lies between row0 and row1 of the results of W rows from row on.
INLINE void FN(rows)(vf v, int row, int row0, int row1, float *dst) {
	if (row >= row0 && row + W <= row1) {
		FN(store)(dst + (row - row0), v);
		return;
	}
	for (int i = 0; i < W; i++)
		if (row + i >= row0 && row + i < row1)
			dst[row + i - row0] = v[i];
}

KERNEL void FN(matmul)(int format, const uint8_t *w, size_t panel, int k, int row0, int row1, const float *x, int tokens,
	float *dst, const int64_t *at) {
	if (tokens == 1) {
		for (int row = row0 / W * W; row < row1; row += W)
			FN(rows)(FN(dot)[format](w + row / 16 * panel, row % 16, k, x), row, row0, row1, dst + at[0]);
		return;
	}
	_Alignas(64) float decoded[CHUNK * LD], sums[MOST * LD];
	memset(decoded, 0, sizeof decoded);
	for (int row = row0 / W * W; row < row1; row += 2 * W) {
		memset(sums, 0, tokens * LD * sizeof *sums);
		for (int k0 = 0; k0 < k; k0 += CHUNK) {
			int k1 = k0 + CHUNK < k ? k0 + CHUNK : k;
			for (int v = 0; v < 2 && row + v * W < row1; v++)
				FN(decode)[format](w + (row + v * W) / 16 * panel, (row + v * W) % 16, k0, k1, decoded + v * W);
			for (int t = 0; t < tokens; t += GROUP) {
				int n = tokens - t < GROUP ? tokens - t : GROUP;
				FN(tiles)(decoded, x + (size_t)t * k + (size_t)k0 * n, n, k1 - k0, sums + t * LD, n);
			}
		}
		for (int t = 0; t < tokens; t++)
			for (int v = 0; v < 2 && row + v * W < row1; v++)
				FN(rows)(FN(load)(sums + t * LD + v * W), row + v * W, row0, row1, dst + at[t]);
	}
}
