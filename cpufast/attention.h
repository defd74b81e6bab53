// Attention and activations in terms of vectors of W floats: included after matmul.h, whose names it uses.

// expneg is exp(y) for y <= 0, to about 3 units in the last place.
INLINE vf FN(expneg)(vf y) {
	y = FN(pick)(y < -104, -104 + 0 * (vf){}, y); // where it vanishes; NaN stays
	vf n = FN(round)(y * 1.44269504f);
	vf r = y - n * 0.693359375f + n * 2.12194440e-4f; // ln 2 in two parts: |r| is at most ln(2)/2
	// The series up to r^7/7!; what is left out is below a tenth of a unit.
	vf p = r * (1.f / 5040) + 1.f / 720;
	p = p * r + 1.f / 120;
	p = p * r + 1.f / 24;
	p = p * r + 1.f / 6;
	p = p * r + 0.5f;
	p = p * r + 1;
	p = p * r + 1;
	vi e = __builtin_convertvector(n, vi), h = e >> 1; // in two steps, since 2^n may be subnormal
	return p * (vf)((h + 127) << 23) * (vf)((e - h + 127) << 23);
}

// part loads n floats, or halves, of which there may be fewer than W.
INLINE vf FN(part)(const uint8_t *p, int half, int n) {
	if (n >= W)
		return half ? FN(halves)(p) : FN(load)(p);
	_Alignas(64) uint8_t buf[4 * W] = {};
	memcpy(buf, p, (size_t)n * (half ? 2 : 4));
	return half ? FN(halves)(buf) : FN(load)(buf);
}

// mix writes the sums of rows of v with weights, of span vectors of elements from element d on, divided by the heads' sums.
INLINE void FN(mix)(const uint8_t *v, size_t stride, int half, int d, int n, int heads, int span, int positions,
	const float *weights, int row, const float *sums, float *dst) {
	vf acc[4][SPAN] = {};
	v += d * (half ? 2 : 4);
	for (int j = 0; j < positions; j++, v += stride)
		UNROLL for (int s = 0; s < span; s++) {
			vf x = FN(part)(v + s * W * (half ? 2 : 4), half, span > 1 ? W : n - d);
			UNROLL for (int h = 0; h < heads; h++) acc[h][s] += x * weights[h * row + j];
		}
	for (int h = 0; h < heads; h++)
		for (int s = 0; s < span; s++) {
			vf out = acc[h][s] / sums[h];
			int left = n - d - s * W;
			memcpy(dst + h * n + d + s * W, &out, sizeof(float) * (left < W ? left : W));
		}
}

INLINE void FN(heads)(const float *q, const uint8_t *k, const uint8_t *v, size_t kstride, size_t vstride, int half, int n, int heads,
	int positions, float scale, float cap, const float *sinks, float *scores, float *dst) {
	const int size = half ? 2 : 4, row = (positions + 15) & ~15;
	for (int j = 0; j < positions; j++, k += kstride) {
		vf sum[4] = {};
		for (int d = 0; d < n; d += W) {
			vf x = FN(part)(k + d * size, half, n - d);
			UNROLL for (int h = 0; h < heads; h++)
				sum[h] += x * FN(part)((const uint8_t *)(q + h * n + d), 0, n - d);
		}
		UNROLL for (int h = 0; h < heads; h++) {
			float s = FN(sum)(sum[h]) * scale;
			scores[h * row + j] = cap > 0 ? cap * (float)tanh((double)s / cap) : s;
		}
	}
	float sums[4];
	for (int h = 0; h < heads; h++) {
		float *s = scores + h * row, top = sinks ? sinks[h] : -INFINITY;
		for (int j = positions; j < row; j++)
			s[j] = -INFINITY; // no share
		vf most = top + 0 * (vf){};
		for (int j = 0; j < row; j += W) {
			vf x = FN(load)(s + j);
			most = FN(pick)(x > most, x, most);
		}
		top = FN(largest)(most);
		vf sum = {};
		for (int j = 0; j < row; j += W) {
			vf e = FN(expneg)(FN(load)(s + j) - top);
			FN(store)(s + j, e);
			sum += e;
		}
		sums[h] = FN(sum)(sum);
		if (sinks)
			sums[h] += FN(expneg)(sinks[h] - top + 0 * (vf){})[0];
	}
	int d = 0;
	for (; n - d >= SPAN * W; d += SPAN * W)
		FN(mix)(v, vstride, half, d, n, heads, SPAN, positions, scores, row, sums, dst);
	for (; d < n; d += W)
		FN(mix)(v, vstride, half, d, n, heads, 1, positions, scores, row, sums, dst);
}

KERNEL void FN(attend)(const float *q, const uint8_t *k, const uint8_t *v, size_t kstride, size_t vstride, int half, int n, int heads,
	int positions, float scale, float cap, const float *sinks, float *scores, float *dst) {
#define HEADS(m)                                                                                                         \
	if (half)                                                                                                              \
		FN(heads)(q, k, v, kstride, vstride, 1, n, m, positions, scale, cap, sinks, scores, dst);                            \
	else                                                                                                                   \
		FN(heads)(q, k, v, kstride, vstride, 0, n, m, positions, scale, cap, sinks, scores, dst)
	while (heads > 0) {
		int m = heads >= 4 ? 4 : 1;
		if (m == 4) {
			HEADS(4);
		} else {
			HEADS(1);
		}
		heads -= m, q += m * n, dst += m * n, sinks = sinks ? sinks + m : 0;
	}
#undef HEADS
}

INLINE vf FN(sigmoid)(vf a) {
	vf e = FN(expneg)((vf)((vi)a | (int)0x80000000)); // exp(-|a|)
	return FN(pick)(a < 0, e, 1 + 0 * e) / (1 + e);
}

INLINE vf FN(activate)(int act, vf g, vf u) {
	switch (act) {
	case CERA_SILU:
		return g * FN(sigmoid)(g) * u;
	case CERA_GELU_TANH:
		return g * FN(sigmoid)(1.59576912f * (g + 0.044715f * g * g * g)) * u; // 2 sqrt(2/pi)
	default:
		g = FN(pick)(g > 7, 7 + 0 * g, g);
		u = FN(pick)(u > 7, 7 + 0 * u, FN(pick)(u < -7, -7 + 0 * u, u));
		return g * FN(sigmoid)(1.702f * g) * (u + 1);
	}
}

KERNEL void FN(gated)(int act, float *dst, const float *gate, const float *up, int n) {
	for (int i = 0; i < n; i += W) {
		vf u = up ? FN(part)((const uint8_t *)(up + i), 0, n - i) : 1 + 0 * (vf){};
		vf out = FN(activate)(act, FN(part)((const uint8_t *)(gate + i), 0, n - i), u);
		memcpy(dst + i, &out, sizeof(float) * (n - i < W ? n - i : W));
	}
}
