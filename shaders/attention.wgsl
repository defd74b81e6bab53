// Causal attention with grouped KV heads, one workgroup for each row and head:
//
//   dst[r, h] = softmax(q[r, h]·Kᵀ * scale)·V over cache rows max(0, pos[r]-window+1)..pos[r]
//
// with the scores passed through a softcap where there is one. With the define SINKS every head has one more score,
// which takes its share of the softmax's sum and has no value.
//
// The cache is read in tiles of WG_SIZE positions with a running maximum, so that scores are never stored (the
// online softmax of Milakov and Gimelshein, arXiv:1805.02867). The first tile starts where the window does.
#define WG_SIZE 128u
#define WG_SUM_REDUCE
#define WG_MAX_REDUCE
#include "common_decls.tmpl"
#include "softcap.tmpl"

struct AttentionParams {
    rows: u32,
    n_head: u32,
    n_kv: u32,
    head_dim: u32,
    q_off: u32,
    q_stride: u32,
    k_off: u32,
    k_stride: u32,
    v_off: u32,
    v_stride: u32,
    pos_off: u32,
    dst_off: u32,
    dst_stride: u32,
    scale_bits: u32,
    positions: u32,
    window: u32,
    softcap_bits: u32,
    sinks_off: u32,
    pad0: u32,
    pad1: u32,
}

@group(0) @binding(0) var<storage, read> q: array<f32>;
@group(0) @binding(1) var<storage, read> kc: array<f32>;
@group(0) @binding(2) var<storage, read> vc: array<f32>;
@group(0) @binding(3) var<storage, read> pos: array<u32>;
@group(0) @binding(4) var<storage, read_write> dst: array<f32>;
#ifdef SINKS
@group(0) @binding(5) var<storage, read> sinks: array<f32>;
@group(0) @binding(6) var<uniform> params: AttentionParams;
#else
@group(0) @binding(5) var<uniform> params: AttentionParams;
#endif

const LOWEST: f32 = -3.4e38; // finite: the difference of two infinities would be no number

var<workgroup> weights: array<f32, WG_SIZE>;   // of the tile's positions, not yet divided by their sum
var<workgroup> out: array<f32, MAX_HEAD_DIM>;  // element d belongs to thread d % WG_SIZE

@compute @workgroup_size(WG_SIZE)
fn attention(
    @builtin(workgroup_id) wg: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let id = folded_id(wg, num);
    let row = id / params.n_head;
    if (row >= params.rows) {
        return;
    }
    let head = id % params.n_head;
    let kv_head = head / (params.n_head / params.n_kv);
    let q0 = params.q_off + row * params.q_stride + head * params.head_dim;
    let k0 = params.k_off + kv_head * params.head_dim;
    let v0 = params.v_off + kv_head * params.head_dim;
    let scale = bitcast<f32>(params.scale_bits);
    let limit = bitcast<f32>(params.softcap_bits);
    // A position past the cache is a caller's mistake, and still no loop without end.
    let end = min(pos[params.pos_off + row], params.positions - 1u) + 1u;
    let start = select(0u, end - params.window, params.window != 0u && params.window < end);

    for (var d = lid; d < params.head_dim; d = d + WG_SIZE) {
        out[d] = 0.0;
    }
    var highest = LOWEST; // of all scores so far
    var sum = 0.0;        // of this thread's weights so far
#ifdef SINKS
    highest = max(sinks[params.sinks_off + head], LOWEST);
    sum = select(0.0, 1.0, lid == 0u); // the sink's weight, counted once
#endif
    for (var tile = start; tile < end; tile = tile + WG_SIZE) {
        let count = min(WG_SIZE, end - tile);
        var score = LOWEST;
        if (lid < count) {
            let at = k0 + (tile + lid) * params.k_stride;
            var dot = 0.0;
            for (var d = 0u; d < params.head_dim; d = d + 1u) {
                dot = dot + q[q0 + d] * kc[at + d];
            }
            score = dot * scale;
            if (params.softcap_bits != 0u) {
                score = softcap(score, limit);
            }
        }
        let next = max(highest, wg_max(lid, score));
        let fade = exp(highest - next); // of what was summed under the former maximum
        highest = next;
        let weight = select(0.0, exp(score - next), lid < count);
        sum = sum * fade + weight;
        weights[lid] = weight;
        workgroupBarrier();
        for (var d = lid; d < params.head_dim; d = d + WG_SIZE) {
            var acc = out[d] * fade;
            for (var t = 0u; t < count; t = t + 1u) {
                acc = acc + weights[t] * vc[v0 + (tile + t) * params.v_stride + d];
            }
            out[d] = acc;
        }
        workgroupBarrier(); // before the next tile's weights
    }
    let total = wg_sum(lid, sum);
    let to = params.dst_off + row * params.dst_stride + head * params.head_dim;
    for (var d = lid; d < params.head_dim; d = d + WG_SIZE) {
        dst[to + d] = out[d] / total;
    }
}
