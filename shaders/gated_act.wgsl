// dst[r, i] = act(gate[r, i]) * up[r, i], or what ClampedSwiGLU makes of the two.
#include "row_span.tmpl"
#include "activation.tmpl"

struct GatedActParams {
    rows: u32,
    n: u32,
    gate_off: u32,
    gate_stride: u32,
    up_off: u32,
    up_stride: u32,
    dst_off: u32,
    dst_stride: u32,
    limit_bits: u32,
    alpha_bits: u32,
    pad0: u32,
    pad1: u32,
}

@group(0) @binding(0) var<storage, read> gate: array<f32>;
@group(0) @binding(1) var<storage, read> up: array<f32>;
@group(0) @binding(2) var<storage, read_write> dst: array<f32>;
@group(0) @binding(3) var<uniform> params: GatedActParams;

#if defined(ACT_CLAMPED_SWIGLU)
// Selected and not clamped: min, max and clamp may turn NaN into a limit.
fn gated(gate: f32, up: f32) -> f32 {
    let limit = bitcast<f32>(params.limit_bits);
    let g = select(gate, limit, gate > limit);
    let u = select(select(up, limit, up > limit), -limit, up < -limit);
    return g * sigmoid(bitcast<f32>(params.alpha_bits) * g) * (u + 1.0);
}
#else
fn gated(gate: f32, up: f32) -> f32 {
    return act(gate) * up;
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
        dst[params.dst_off + r * params.dst_stride + i] = gated(g, u);
    }
}
