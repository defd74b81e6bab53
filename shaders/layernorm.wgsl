// dst[r, i] = (src[r, i] - mean) / sqrt(variance + eps) * w[i] + [bias[i]], one workgroup a row.
//
// The mean comes first and the variance from the differences to it: the mean of squares less the square of the mean
// would cancel where the mean is large. The mean is summed twice, the second time over what the first left, so that
// its own rounding does not show either. What is left is an RMS norm of the differences, which holds for tiny and for
// huge ones alike; the sum of a row's magnitudes must stay below 2^127.
#define WG_SIZE 256u
#include "inv_rms.tmpl"

struct LayerNormParams {
    rows: u32,
    n: u32,
    src_off: u32,
    src_stride: u32,
    dst_off: u32,
    dst_stride: u32,
    w_off: u32,
    bias_off: u32,
    eps_bits: u32,
    pad0: u32,
    pad1: u32,
    pad2: u32,
}

@group(0) @binding(0) var<storage, read> src: array<f32>;
@group(0) @binding(1) var<storage, read> w: array<f32>;
@group(0) @binding(2) var<storage, read_write> dst: array<f32>;
#ifdef BIAS
@group(0) @binding(3) var<storage, read> bias: array<f32>;
@group(0) @binding(4) var<uniform> params: LayerNormParams;
#else
@group(0) @binding(3) var<uniform> params: LayerNormParams;
#endif

var<private> mean: vec2<f32>; // the row's is the sum of the two

// Element i of a row, less the mean.
fn row_value(row: u32, i: u32) -> f32 {
    return (src[params.src_off + row * params.src_stride + i] - mean.x) - mean.y;
}

// This thread's share of the sum of row_value over the row.
fn partial_sum(row: u32, lid: u32) -> f32 {
    var sum = 0.0;
    for (var i = lid; i < params.n; i = i + WG_SIZE) {
        sum = sum + row_value(row, i);
    }
    return sum;
}

@compute @workgroup_size(WG_SIZE)
fn layernorm(
    @builtin(workgroup_id) wg: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let row = folded_id(wg, num);
    if (row >= params.rows) {
        return;
    }
    let n = params.n;
    mean = vec2<f32>(0.0, 0.0);
    mean.x = wg_sum(lid, partial_sum(row, lid)) / f32(n);
    mean.y = wg_sum(lid, partial_sum(row, lid)) / f32(n);
    var squares = 0.0;
    for (var i = lid; i < n; i = i + WG_SIZE) {
        let v = row_value(row, i);
        squares = squares + v * v;
    }
    let factors = inv_rms(row, n, bitcast<f32>(params.eps_bits), lid, squares);
    let out = params.dst_off + row * params.dst_stride;
    for (var i = lid; i < n; i = i + WG_SIZE) {
        var y = row_value(row, i) * factors.x * factors.y * w[params.w_off + i];
#ifdef BIAS
        y = y + bias[params.bias_off + i];
#endif
        dst[out + i] = y;
    }
}
