// dst[r, o] = sum over k of x[r, k] * w[o, k] for few rows: one workgroup for each o (folded over x and y) and each
// r (over z). w is a weight of any format.
#define WG_SIZE 64u
#define WG_SUM_REDUCE
#define WEIGHT w
#include "common_decls.tmpl"
#include "decode.tmpl"

struct MatVecParams {
    k: u32,
    m: u32,
    rows: u32,
    x_off: u32,
    x_stride: u32,
    dst_off: u32,
    dst_stride: u32,
    row0: u32,
}

@group(0) @binding(0) var<storage, read> w: array<u32>;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> dst: array<f32>;
@group(0) @binding(3) var<uniform> params: MatVecParams;

@compute @workgroup_size(WG_SIZE)
fn matvec(
    @builtin(workgroup_id) wg: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let o = folded_id(wg, num);
    if (o >= params.m) {
        return;
    }
    for (var r = wg.z; r < params.rows; r = r + num.z) {
        let first = params.x_off + r * params.x_stride;
        var sum = 0.0;
        for (var k = lid; k < params.k; k = k + WG_SIZE) {
            sum = sum + x[first + k] * weight_at((params.row0 + o) * params.k + k);
        }
        let total = wg_sum(lid, sum);
        if (lid == 0u) {
            dst[params.dst_off + r * params.dst_stride + o] = total;
        }
    }
}
