// Puts together what the splits of an attention found, one workgroup for each row and head: the sums of values and of
// weights of every split under the largest score of all, and their quotient. A split that saw no position has no weights.
#define WG_SIZE 256u
#define WG_SUM_REDUCE
#define WG_MAX_REDUCE
#include "common_decls.tmpl"
#include "attention_params.tmpl"

@group(0) @binding(0) var<storage, read> found: array<vec4<f32>>; // [rows, heads, splits, QUADS + 1]
@group(0) @binding(1) var<storage, read_write> dst: array<f32>;
#ifdef SINKS
@group(0) @binding(2) var<storage, read> sinks: array<f32>;
@group(0) @binding(3) var<uniform> params: AttentionParams;
#else
@group(0) @binding(2) var<uniform> params: AttentionParams;
#endif

const QUADS: u32 = HEAD_DIM / 4u;

var<workgroup> weights: array<f32, WG_SIZE>;         // of the splits
var<workgroup> partial: array<vec4<f32>, WG_SIZE>;   // [BANDS, QUADS]

// Split s times its weight; what a split without weights left there means nothing.
fn weighed(first: u32, s: u32, col: u32) -> vec4<f32> {
    let v = found[first + min(s, params.splits - 1u) * (QUADS + 1u) + col];
    return select(vec4<f32>(), weights[s] * v, weights[s] > 0.0);
}

@compute @workgroup_size(WG_SIZE)
fn attention_merge(
    @builtin(workgroup_id) wg: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let id = folded_id(wg, num);
    let row = id / params.n_head;
    let head = id % params.n_head;
    if (row >= params.rows) {
        return;
    }
    let first = id * params.splits * (QUADS + 1u);
    var top = LOWEST;
    var sum = 0.0; // of the split's weights
    if (lid < params.splits) {
        let stats = found[first + lid * (QUADS + 1u) + QUADS];
        top = stats.x;
        sum = stats.y;
    }
    var highest = wg_max(lid, top);
#ifdef SINKS
    let sink = max(sinks[params.sinks_off + head], LOWEST);
    highest = max(highest, sink);
#endif
    let weight = select(0.0, exp(top - highest), sum > 0.0);
    weights[lid] = weight;
    var total = wg_sum(lid, weight * sum); // its barriers show the weights to all threads
#ifdef SINKS
    total = total + exp(sink - highest);
#endif
    let col = lid % QUADS;
    let band = lid / QUADS;
    if (band < BANDS) {
        var v = vec4<f32>();
        for (var s = band; s < params.splits; s = s + 4u * BANDS) {
            // Four are on their way at a time. Past the last split the weights are zero.
            let a = weighed(first, s, col);
            let b = weighed(first, s + BANDS, col);
            let c = weighed(first, s + 2u * BANDS, col);
            let d = weighed(first, s + 3u * BANDS, col);
            v = v + ((a + b) + (c + d));
        }
        partial[band * QUADS + col] = v;
    }
    workgroupBarrier();
    if (lid < QUADS) {
        var v = partial[lid];
        for (var j = 1u; j < BANDS; j = j + 1u) {
            v = v + partial[j * QUADS + lid];
        }
        let to = params.dst_off + row * params.dst_stride + head * HEAD_DIM + 4u * lid;
        for (var j = 0u; j < 4u; j = j + 1u) {
            dst[to + j] = v[j] / total;
        }
    }
}
