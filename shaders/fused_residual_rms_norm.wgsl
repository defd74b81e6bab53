// y = rms_norm(x + residual + [bias]) * gamma + beta over one arena, one workgroup a row. All offsets are in f32
// elements; rows follow one another without gaps. With the define TEE the sum is stored at sum_off as well, which
// may be in_off. No other operand may share memory with what is written.
#define WG_SIZE 256u
#include "inv_rms.tmpl"

struct FusedResidualRMSNormParams {
    outer: u32,
    inner: u32,
    in_off: u32,
    residual_off: u32,
    bias_off: u32,
    gamma_off: u32,
    beta_off: u32,
    out_off: u32,
    eps_bits: u32,
    has_bias: u32,
    sum_off: u32, // without TEE a pad word
    pad: u32,
}

@group(0) @binding(0) var<storage, read_write> arena: array<f32>;
@group(0) @binding(1) var<uniform> params: FusedResidualRMSNormParams;

// Element i of a row of the sum, added from left to right.
fn row_sum(row: u32, i: u32) -> f32 {
    let at = row * params.inner + i;
    var v = arena[params.in_off + at] + arena[params.residual_off + at];
    if (params.has_bias != 0u) {
        v = v + arena[params.bias_off + i];
    }
    return v;
}

// The same once the first pass is over: where the sum was stored it is read back, since in may be gone.
fn row_value(row: u32, i: u32) -> f32 {
#ifdef TEE
    return arena[params.sum_off + row * params.inner + i];
#else
    return row_sum(row, i);
#endif
}

@compute @workgroup_size(WG_SIZE)
fn fused_residual_rms_norm(
    @builtin(workgroup_id) wg: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let row = folded_id(wg, num);
    let n = params.inner;
    if (row >= params.outer || n == 0u) {
        return;
    }
    var squares = 0.0;
    for (var i = lid; i < n; i = i + WG_SIZE) {
        let v = row_sum(row, i);
#ifdef TEE
        arena[params.sum_off + row * n + i] = v; // only this thread reads it again
#endif
        squares = squares + v * v;
    }
    let factors = inv_rms(row, n, bitcast<f32>(params.eps_bits), lid, squares);
    let out = params.out_off + row * n;
    for (var i = lid; i < n; i = i + WG_SIZE) {
        let y = row_value(row, i) * factors.x * factors.y;
        arena[out + i] = y * arena[params.gamma_off + i] + arena[params.beta_off + i];
    }
}
