// Causal attention with grouped KV heads for any head and any alignment, one workgroup for each row and head:
//
//   dst[r, h] = softmax(q[r, h]·Kᵀ * scale)·V over cache rows max(0, pos[r]-window+1)..pos[r]
//
// with the scores passed through a softcap where there is one. With the define SINKS every head has one more score,
// which takes its share of the softmax's sum and has no value. With HALF the cache holds two halves a word.
//
// The cache is read in tiles of WG_SIZE positions with a running maximum, so that scores are never stored (the
// online softmax of Milakov and Gimelshein, arXiv:1805.02867). The first tile starts where the window does.
#define WG_SIZE 128u
#define WG_SUM_REDUCE
#define WG_MAX_REDUCE
#include "common_decls.tmpl"
#include "attention_params.tmpl"
#ifdef HALF
#include "half.tmpl"
#define CACHE_WORD u32
#else
#define CACHE_WORD f32
#endif

@group(0) @binding(0) var<storage, read> q: array<f32>;
@group(0) @binding(1) var<storage, read> kc: array<CACHE_WORD>;
@group(0) @binding(2) var<storage, read> vc: array<CACHE_WORD>;
@group(0) @binding(3) var<storage, read> pos: array<u32>;
@group(0) @binding(4) var<storage, read_write> dst: array<f32>;
#ifdef SINKS
@group(0) @binding(5) var<storage, read> sinks: array<f32>;
@group(0) @binding(6) var<uniform> params: AttentionParams;
#else
@group(0) @binding(5) var<uniform> params: AttentionParams;
#endif

var<workgroup> weights: array<f32, WG_SIZE>;   // of the tile's positions, not yet divided by their sum
var<workgroup> out: array<f32, MAX_HEAD_DIM>;  // element d belongs to thread d % WG_SIZE

// Element i of the cache's row of a position.
fn key_at(p: u32, i: u32) -> f32 {
    let row = params.k_off + p * params.k_stride;
#ifdef HALF
    return half_at(kc[row + i / 2u], i & 1u);
#else
    return kc[row + i];
#endif
}

fn value_at(p: u32, i: u32) -> f32 {
    let row = params.v_off + p * params.v_stride;
#ifdef HALF
    return half_at(vc[row + i / 2u], i & 1u);
#else
    return vc[row + i];
#endif
}

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
    let first = head / (params.n_head / params.n_kv) * params.head_dim; // of the KV head's elements
    let q0 = params.q_off + row * params.q_stride + head * params.head_dim;
    let end = end_of(pos[params.pos_off + row]);

    for (var d = lid; d < params.head_dim; d = d + WG_SIZE) {
        out[d] = 0.0;
    }
    var highest = LOWEST; // of all scores so far
    var sum = 0.0;        // of this thread's weights so far
#ifdef SINKS
    highest = max(sinks[params.sinks_off + head], LOWEST);
    sum = select(0.0, 1.0, lid == 0u); // the sink's weight, counted once
#endif
    for (var tile = start_of(end); tile < end; tile = tile + WG_SIZE) {
        let count = min(WG_SIZE, end - tile);
        var score = LOWEST;
        if (lid < count) {
            var dot = 0.0;
            for (var d = 0u; d < params.head_dim; d = d + 1u) {
                dot = dot + q[q0 + d] * key_at(tile + lid, first + d);
            }
            score = score_of(dot);
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
                acc = acc + weights[t] * value_at(tile + t, first + d);
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
