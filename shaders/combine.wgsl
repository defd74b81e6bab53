// dst[r, i] = sum over j of weights[r, j] * x[r*used + j, i]: the outputs of a row's experts, added up.
#include "row_span.tmpl"

struct CombineParams {
    rows: u32,
    n: u32,
    used: u32,
    x_off: u32,
    x_stride: u32,
    weights_off: u32,
    weights_stride: u32,
    dst_off: u32,
    dst_stride: u32,
    pad0: u32,
    pad1: u32,
    pad2: u32,
}

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> weights: array<f32>;
@group(0) @binding(2) var<storage, read_write> dst: array<f32>;
@group(0) @binding(3) var<uniform> params: CombineParams;

@compute @workgroup_size(WG_SIZE)
fn combine(
    @builtin(workgroup_id) wg: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let at = row_and_element(wg, num, lid, params.n);
    if (at.x >= params.rows || at.y >= params.n) {
        return;
    }
    let first = params.weights_off + at.x * params.weights_stride;
    var sum = 0.0;
    for (var j = 0u; j < params.used; j = j + 1u) {
        sum = sum + weights[first + j] * x[params.x_off + (at.x * params.used + j) * params.x_stride + at.y];
    }
    dst[params.dst_off + at.x * params.dst_stride + at.y] = sum;
}
