// The used experts of every row with the largest logits, largest first and the lower expert where two are equal, and
// their weights: exp(logit - largest) divided by its sum over all experts or (of_picked) over the picked ones. One
// workgroup a row.
//
// Logits are compared as integers that have their order, NaN below all others: WGSL lets a compiler assume that there
// is none, and the choice must end whatever the logits are.
#define WG_SIZE 64u
#define WG_SUM_REDUCE
#include "common_decls.tmpl"

struct RouteParams {
    rows: u32,
    experts: u32,
    used: u32,
    of_picked: u32,
    logits_off: u32,
    logits_stride: u32,
    id_off: u32,
    id_stride: u32,
    weights_off: u32,
    weights_stride: u32,
    pad0: u32,
    pad1: u32,
}

@group(0) @binding(0) var<storage, read> logits: array<u32>; // bits of f32
@group(0) @binding(1) var<storage, read_write> ids: array<u32>;
@group(0) @binding(2) var<storage, read_write> weights: array<f32>;
@group(0) @binding(3) var<uniform> params: RouteParams;

const NO_EXPERT: u32 = 0xffffffffu;

var<workgroup> best: array<vec2<u32>, WG_SIZE>; // key and expert of a thread's candidate

// A number that orders as the float of these bits does.
fn key_of(bits: u32) -> u32 {
    let size = bits & 0x7fffffffu;
    if (size > 0x7f800000u) {
        return 0u; // NaN
    }
    if (size == 0u) {
        return 0x80000000u; // both zeros
    }
    return select(bits | 0x80000000u, ~bits, bits >= 0x80000000u);
}

// Whether candidate a goes before b: no two of a row are equal.
fn before(a: vec2<u32>, b: vec2<u32>) -> bool {
    return a.x > b.x || a.x == b.x && a.y < b.y;
}

// The candidate of the row that comes next after last, or the first of all, the same in every thread. All threads
// must call it.
fn next_after(last: vec2<u32>, row: u32, first: bool, lid: u32) -> vec2<u32> {
    var mine = vec2<u32>(0u, NO_EXPERT);
    for (var e = lid; e < params.experts; e = e + WG_SIZE) {
        let c = vec2<u32>(key_of(logits[row + e]), e);
        if ((first || before(last, c)) && before(c, mine)) {
            mine = c;
        }
    }
    best[lid] = mine;
    workgroupBarrier();
    for (var half = WG_SIZE / 2u; half > 0u; half = half / 2u) {
        if (lid < half && before(best[lid + half], best[lid])) {
            best[lid] = best[lid + half];
        }
        workgroupBarrier();
    }
    // The uniform load has barriers of its own, so that best may be written again at once.
    return workgroupUniformLoad(&best[0]);
}

// What expert e of the row is worth beside the largest logit.
fn share(row: u32, e: u32, largest: f32) -> f32 {
    return exp(bitcast<f32>(logits[row + e]) - largest);
}

@compute @workgroup_size(WG_SIZE)
fn route(
    @builtin(workgroup_id) wg: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let r = folded_id(wg, num);
    if (r >= params.rows) {
        return;
    }
    let row = params.logits_off + r * params.logits_stride;
    var picked = vec2<u32>(0u, NO_EXPERT);
    var largest = 0.0;
    var sum = 0.0; // over the picked, in the order of the picks
    for (var j = 0u; j < params.used; j = j + 1u) {
        picked = next_after(picked, row, j == 0u, lid);
        if (j == 0u) {
            largest = bitcast<f32>(logits[row + picked.y]);
        }
        let v = share(row, picked.y, largest);
        sum = sum + v;
        // Pick j belongs to one thread, which divides below what it writes here.
        if (lid == j % WG_SIZE) {
            ids[params.id_off + r * params.id_stride + j] = picked.y;
            weights[params.weights_off + r * params.weights_stride + j] = v;
        }
    }
    if (params.of_picked == 0u) {
        var mine = 0.0;
        for (var e = lid; e < params.experts; e = e + WG_SIZE) {
            mine = mine + share(row, e, largest);
        }
        sum = wg_sum(lid, mine);
    }
    for (var j = lid; j < params.used; j = j + WG_SIZE) {
        let at = params.weights_off + r * params.weights_stride + j;
        weights[at] = weights[at] / sum;
    }
}
