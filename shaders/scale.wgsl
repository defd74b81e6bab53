// x[r, i] *= factor, in place.
#include "row_span.tmpl"

struct ScaleParams {
    rows: u32,
    n: u32,
    x_off: u32,
    x_stride: u32,
    factor_bits: u32,
    pad0: u32,
    pad1: u32,
    pad2: u32,
}

@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@group(0) @binding(1) var<uniform> params: ScaleParams;

@compute @workgroup_size(WG_SIZE)
fn scale(
    @builtin(workgroup_id) wg: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let at = row_and_element(wg, num, lid, params.n);
    if (at.x < params.rows && at.y < params.n) {
        let to = params.x_off + at.x * params.x_stride + at.y;
        x[to] = x[to] * bitcast<f32>(params.factor_bits);
    }
}
