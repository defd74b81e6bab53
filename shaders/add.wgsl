// dst[r, i] += x[r, i], in place.
#include "row_span.tmpl"

struct AddParams {
    rows: u32,
    n: u32,
    dst_off: u32,
    dst_stride: u32,
    x_off: u32,
    x_stride: u32,
    pad0: u32,
    pad1: u32,
}

@group(0) @binding(0) var<storage, read_write> dst: array<f32>;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<uniform> params: AddParams;

@compute @workgroup_size(WG_SIZE)
fn add(
    @builtin(workgroup_id) wg: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let at = row_and_element(wg, num, lid, params.n);
    if (at.x < params.rows && at.y < params.n) {
        let to = params.dst_off + at.x * params.dst_stride + at.y;
        dst[to] = dst[to] + x[params.x_off + at.x * params.x_stride + at.y];
    }
}
