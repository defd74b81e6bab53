// dst[s, o] = sum over k of x[s / per_row, k] * w[ids[s]*m + o, k]: every slot has an expert's matrix of m rows. One
// workgroup for each o (folded over x and y) and each slot (over z). w is a weight of any format; the binding holds
// its rows row_lo..row_hi-1, and only outputs whose weight row lies there are written. A slot whose expert there is not
// gets zeros.
#define WG_SIZE 64u
#define WG_SUM_REDUCE
#define WEIGHT w
#define SCALES scales
#include "common_decls.tmpl"
#ifdef PACKED
#include "packed_unit.tmpl"
#else
#define QUANTS u32
#include "decode.tmpl"
#endif

struct ExpertMatMulParams {
    k: u32,
    m: u32,
    slots: u32,
    per_row: u32,
    x_off: u32,
    x_stride: u32,
    dst_off: u32,
    dst_stride: u32,
    id_off: u32,
    experts: u32,
    row_lo: u32,
    row_hi: u32,
    row_units: u32,
    pad0: u32,
    pad1: u32,
    pad2: u32,
}

@group(0) @binding(0) var<storage, read> w: array<QUANTS>;
#ifdef PACKED
@group(0) @binding(1) var<storage, read> scales: array<u32>;
@group(0) @binding(2) var<storage, read> x: array<f32>;
@group(0) @binding(3) var<storage, read> ids: array<u32>;
@group(0) @binding(4) var<storage, read_write> dst: array<f32>;
@group(0) @binding(5) var<uniform> params: ExpertMatMulParams;
#else
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read> ids: array<u32>;
@group(0) @binding(3) var<storage, read_write> dst: array<f32>;
@group(0) @binding(4) var<uniform> params: ExpertMatMulParams;
#endif

@compute @workgroup_size(WG_SIZE)
fn expert_matmul(
    @builtin(workgroup_id) wg: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let o = folded_id(wg, num);
    if (o >= params.m) {
        return;
    }
    // What a slot does depends on its id alone, so that all threads of the workgroup meet at the sum or none does.
    for (var s = wg.z; s < params.slots; s = s + num.z) {
        let to = params.dst_off + s * params.dst_stride + o;
        let expert = ids[params.id_off + s];
        if (expert >= params.experts) {
            if (lid == 0u) {
                dst[to] = 0.0;
            }
            continue;
        }
        let row = expert * params.m + o;
        if (row < params.row_lo || row >= params.row_hi) {
            continue;
        }
        let first = params.x_off + s / params.per_row * params.x_stride;
        var sum = 0.0;
#ifdef PACKED
        for (var k = 4u * lid; k < params.k; k = k + 4u * WG_SIZE) {
            let v = vec4<f32>(x[first + k], x[first + k + 1u], x[first + k + 2u], x[first + k + 3u]);
            sum = sum + dot(v, weight4(row - params.row_lo, params.row_units, k / 4u));
        }
#else
        for (var k = lid; k < params.k; k = k + WG_SIZE) {
            sum = sum + x[first + k] * weight_at((row - params.row_lo) * params.k + k);
        }
#endif
        let total = wg_sum(lid, sum);
        if (lid == 0u) {
            dst[to] = total;
        }
    }
}
