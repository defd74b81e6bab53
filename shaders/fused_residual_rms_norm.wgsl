// y = rms_norm(x + residual + [bias]) * gamma + beta over one arena, one workgroup a row. All offsets are in f32
// elements; rows follow one another without gaps. With the define TEE the sum is stored at sum_off as well, which
// may be in_off. No other operand may share memory with what is written. held_row.tmpl says which defines make it
// faster.
#define WG_SIZE 256u
#include "held_row.tmpl"

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

@group(0) @binding(0) var<storage, read_write> arena: array<ELEMENT>;
@group(0) @binding(1) var<uniform> params: FusedResidualRMSNormParams;

fn row_count() -> u32 { return params.inner / LANES; }

// Element i of the row at off.
fn at(off: u32, row: u32, i: u32) -> u32 { return off / LANES + row * row_count() + i; }

// Element i of a row of the sum, added from left to right.
fn row_sum(row: u32, i: u32) -> ELEMENT {
    var v = arena[at(params.in_off, row, i)] + arena[at(params.residual_off, row, i)];
    if (params.has_bias != 0u) {
        v = v + arena[at(params.bias_off, 0u, i)];
    }
    return v;
}

// The same once the first pass is over: where the sum was stored it is read back, since in may be gone.
fn row_value(row: u32, i: u32) -> ELEMENT {
#ifdef TEE
    return arena[at(params.sum_off, row, i)];
#else
    return row_sum(row, i);
#endif
}

#ifdef HELD
// Adds this thread's share of the row at off to v.
fn add_row(off: u32, row: u32, lid: u32, v: ptr<function, Held>) {
    for (var k = 0u; k < HELD; k = k + 1u) {
        let i = lid + k * WG_SIZE;
        if (in_row(k, i)) {
            (*v)[k] = (*v)[k] + arena[at(off, row, i)];
        }
    }
}

// Reads this thread's share of the row at off.
fn read_row(off: u32, row: u32, lid: u32) -> Held {
    var v: Held;
    for (var k = 0u; k < HELD; k = k + 1u) {
        let i = lid + k * WG_SIZE;
        if (in_row(k, i)) {
            v[k] = arena[at(off, row, i)];
        }
    }
    return v;
}
#endif

@compute @workgroup_size(WG_SIZE)
fn fused_residual_rms_norm(
    @builtin(workgroup_id) wg: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let row = folded_id(wg, num);
    if (row >= params.outer || params.inner == 0u) {
        return;
    }
#ifdef HELD
    // All reads come before the first write and the barriers, so that they are under way together.
    var v = read_row(params.in_off, row, lid);
    add_row(params.residual_off, row, lid, &v);
    if (params.has_bias != 0u) {
        add_row(params.bias_off, 0u, lid, &v);
    }
#ifdef VEC4
    var gamma = read_row(params.gamma_off, 0u, lid);
    var beta = read_row(params.beta_off, 0u, lid);
#endif
#ifdef TEE
    for (var k = 0u; k < HELD; k = k + 1u) {
        let i = lid + k * WG_SIZE;
        if (in_row(k, i)) {
            arena[at(params.sum_off, row, i)] = v[k];
        }
    }
#endif
    let factors = inv_rms(row, params.inner, bitcast<f32>(params.eps_bits), lid, held_squares(&v));
    for (var k = 0u; k < HELD; k = k + 1u) {
        let i = lid + k * WG_SIZE;
        if (in_row(k, i)) {
#ifdef VEC4
            arena[at(params.out_off, row, i)] = v[k] * factors.x * factors.y * gamma[k] + beta[k];
#else
            // Without fours there are too many registers to have these beforehand.
            let y = v[k] * factors.x * factors.y;
            arena[at(params.out_off, row, i)] = y * arena[at(params.gamma_off, 0u, i)] + arena[at(params.beta_off, 0u, i)];
#endif
        }
    }
#else
    var squares = ELEMENT();
    for (var i = lid; i < row_count(); i = i + WG_SIZE) {
        let v = row_sum(row, i);
#ifdef TEE
        arena[at(params.sum_off, row, i)] = v; // only this thread reads it again
#endif
        squares = squares + v * v;
    }
    let factors = inv_rms(row, params.inner, bitcast<f32>(params.eps_bits), lid, squares);
    for (var i = lid; i < row_count(); i = i + WG_SIZE) {
        let y = row_value(row, i) * factors.x * factors.y;
        arena[at(params.out_off, row, i)] = y * arena[at(params.gamma_off, 0u, i)] + arena[at(params.beta_off, 0u, i)];
    }
#endif
}
