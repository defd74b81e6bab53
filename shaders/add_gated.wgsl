// dst[r, i] += x[r, i] * sigmoid(gate[r, 0]), in place: the output of an expert that every row takes.
#include "row_span.tmpl"
#include "sigmoid.tmpl"

struct AddGatedParams {
    rows: u32,
    n: u32,
    dst_off: u32,
    dst_stride: u32,
    x_off: u32,
    x_stride: u32,
    gate_off: u32,
    gate_stride: u32,
}

@group(0) @binding(0) var<storage, read_write> dst: array<f32>;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read> gate: array<f32>;
@group(0) @binding(3) var<uniform> params: AddGatedParams;

@compute @workgroup_size(WG_SIZE)
fn add_gated(
    @builtin(workgroup_id) wg: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let at = row_and_element(wg, num, lid, params.n);
    if (at.x < params.rows && at.y < params.n) {
        let to = params.dst_off + at.x * params.dst_stride + at.y;
        let v = x[params.x_off + at.x * params.x_stride + at.y];
        dst[to] = dst[to] + v * sigmoid(gate[params.gate_off + at.x * params.gate_stride]);
    }
}
