// dst[r, i] = act(gate[r, i]) * up[r, i].
#include "row_span.tmpl"

struct GatedActParams {
    rows: u32,
    n: u32,
    gate_off: u32,
    gate_stride: u32,
    up_off: u32,
    up_stride: u32,
    dst_off: u32,
    dst_stride: u32,
}

@group(0) @binding(0) var<storage, read> gate: array<f32>;
@group(0) @binding(1) var<storage, read> up: array<f32>;
@group(0) @binding(2) var<storage, read_write> dst: array<f32>;
@group(0) @binding(3) var<uniform> params: GatedActParams;

#if defined(ACT_SILU)
// x / (1 + exp(-x)), written so that exp does not overflow: a division by more than 2^126 has no promised result.
fn act(x: f32) -> f32 {
    let e = exp(-abs(x));
    return x * (select(e, 1.0, x >= 0.0) / (1.0 + e));
}
#endif

@compute @workgroup_size(WG_SIZE)
fn gated_act(
    @builtin(workgroup_id) wg: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let at = row_and_element(wg, num, lid, params.n);
    let r = at.x;
    let i = at.y;
    if (r < params.rows && i < params.n) {
        let g = gate[params.gate_off + r * params.gate_stride + i];
        let u = up[params.up_off + r * params.up_stride + i];
        dst[params.dst_off + r * params.dst_stride + i] = act(g) * u;
    }
}
