// dst[r, i] = act(src[r, i]).
#include "row_span.tmpl"
#include "activation.tmpl"

struct ActParams {
    rows: u32,
    n: u32,
    src_off: u32,
    src_stride: u32,
    dst_off: u32,
    dst_stride: u32,
    pad0: u32,
    pad1: u32,
}

@group(0) @binding(0) var<storage, read> src: array<f32>;
@group(0) @binding(1) var<storage, read_write> dst: array<f32>;
@group(0) @binding(2) var<uniform> params: ActParams;

@compute @workgroup_size(WG_SIZE)
fn apply_act(
    @builtin(workgroup_id) wg: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let at = row_and_element(wg, num, lid, params.n);
    if (at.x < params.rows && at.y < params.n) {
        let v = src[params.src_off + at.x * params.src_stride + at.y];
        dst[params.dst_off + at.x * params.dst_stride + at.y] = act(v);
    }
}
