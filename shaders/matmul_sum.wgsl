// dst[r, o] = sum over p of parts[p, r, o]: puts together what the splits of matmul_panel.wgsl have summed up.
#include "row_span.tmpl"

struct MatMulSumParams {
    m: u32,
    rows: u32,
    parts: u32,
    dst_off: u32,
    dst_stride: u32,
    pad0: u32,
    pad1: u32,
    pad2: u32,
}

@group(0) @binding(0) var<storage, read> parts: array<f32>;
@group(0) @binding(1) var<storage, read_write> dst: array<f32>;
@group(0) @binding(2) var<uniform> params: MatMulSumParams;

@compute @workgroup_size(WG_SIZE)
fn matmul_sum(
    @builtin(workgroup_id) wg: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let at = row_and_element(wg, num, lid, params.m);
    if (at.x < params.rows && at.y < params.m) {
        var sum = 0.0;
        for (var p = 0u; p < params.parts; p = p + 1u) {
            sum = sum + parts[(p * params.rows + at.x) * params.m + at.y];
        }
        dst[params.dst_off + at.x * params.dst_stride + at.y] = sum;
    }
}
