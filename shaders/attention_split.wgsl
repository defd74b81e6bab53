// Causal attention for few rows: the positions that a row sees are split among workgroups, one for each row, split, KV head
// and part of up to HEADS of its query heads, which read the KV head's keys and values once for all of them. A workgroup
// leaves for each of its heads the sum of the values by their weights, not yet divided, and behind it the largest score and
// the sum of the weights; attention_merge.wgsl puts the splits together. With DIRECT there is one split, which is the result.
//
// A tile of TILE positions at a time: teams of TEAM threads multiply four keys each with all queries, the partial sums meet
// in workgroup memory, and then all threads add up values, neighbours reading neighbouring elements.
#define WG_SIZE 128u
#include "common_decls.tmpl"
#include "attention_params.tmpl"
#include "attention_cache.tmpl"

@group(0) @binding(0) var<storage, read> q: array<f32>;
@group(0) @binding(1) var<storage, read> kc: array<CACHE_UNIT>;
@group(0) @binding(2) var<storage, read> vc: array<CACHE_UNIT>;
@group(0) @binding(3) var<storage, read> pos: array<u32>;
#ifdef DIRECT
@group(0) @binding(4) var<storage, read_write> dst: array<f32>;
#else
@group(0) @binding(4) var<storage, read_write> found: array<vec4<f32>>;
#endif
#ifdef SINKS
@group(0) @binding(5) var<storage, read> sinks: array<f32>;
@group(0) @binding(6) var<uniform> params: AttentionParams;
#else
@group(0) @binding(5) var<uniform> params: AttentionParams;
#endif

const TILE: u32 = 64u;                             // positions
const TEAM: u32 = 8u;                              // threads that share a key
const TEAMS: u32 = WG_SIZE / TEAM;                 // of four keys each
const STEPS: u32 = (UNITS + TEAM - 1u) / TEAM;     // units of a key that a thread reads
const Q_ROW: u32 = STEPS * TEAM * PIECES;          // a query in workgroup memory, filled up with zeros
const SCORERS: u32 = HEADS * TEAMS;                // threads that hold four scores
const LANE_ROW: u32 = SCORERS + 1u;                // one more, so that lanes write to different banks
const HEAD_QUADS: u32 = HEADS / 4u;
const QUERIES: u32 = HEADS * Q_ROW;
const PARTIALS: u32 = TEAM * LANE_ROW;
const WEIGHTS: u32 = TILE * HEAD_QUADS;
const HEAD_LANES: u32 = SCORERS / 4u;

var<workgroup> queries: array<vec4<f32>, QUERIES>;
var<workgroup> partial: array<vec4<f32>, PARTIALS>;     // [TEAM, HEADS, TEAMS], four positions each; at the end values
var<workgroup> weights: array<vec4<f32>, WEIGHTS>;      // [TILE, HEADS]
var<workgroup> lanes: array<vec4<f32>, HEAD_LANES>;     // [HEADS, TEAMS]
var<workgroup> fades: array<vec4<f32>, HEAD_QUADS>;     // [HEADS]

// A vector for each of four heads.
struct Four { a: vec4<f32>, b: vec4<f32>, c: vec4<f32>, d: vec4<f32> }

// s plus the products of four queries from h on, elements 4*at to 4*at+3, with four keys.
fn scored(s: Four, h: u32, at: u32, k0: vec4<f32>, k1: vec4<f32>, k2: vec4<f32>, k3: vec4<f32>) -> Four {
    let i = h * Q_ROW + at;
    return Four(
        add_dots(s.a, queries[i], k0, k1, k2, k3), add_dots(s.b, queries[i + Q_ROW], k0, k1, k2, k3),
        add_dots(s.c, queries[i + 2u * Q_ROW], k0, k1, k2, k3), add_dots(s.d, queries[i + 3u * Q_ROW], k0, k1, k2, k3),
    );
}

fn scaled(o: Four, f: vec4<f32>) -> Four {
    return Four(o.a * f.x, o.b * f.y, o.c * f.z, o.d * f.w);
}

fn weighed(o: Four, w: vec4<f32>, v: vec4<f32>) -> Four {
    return Four(o.a + w.x * v, o.b + w.y * v, o.c + w.z * v, o.d + w.w * v);
}

fn head_of(o: Four, h: u32) -> vec4<f32> {
    return select(select(o.d, o.c, h == 2u), select(o.b, o.a, h == 0u), h < 2u);
}

@compute @workgroup_size(WG_SIZE)
fn attention_split(
    @builtin(workgroup_id) wg: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    // Neighbours work on the same positions: rows, then parts, then KV heads, whose keys lie side by side.
    let id = folded_id(wg, num);
    let row = id % params.rows;
    let first_head = id / params.rows % params.parts * HEADS; // of the KV head's
    let kv_head = id / (params.rows * params.parts) % params.n_kv;
    let split = id / (params.rows * params.parts * params.n_kv);
    if (split >= params.splits) {
        return;
    }
    let group = params.n_head / params.n_kv;
    let heads = min(HEADS, group - first_head);
    let head0 = kv_head * group + first_head;
    let end = end_of(pos[params.pos_off + row]);
    let start = start_of(end);
    let share = share_of(end - start, TILE);
    let begin = start + split * share;
    // Where a head's result goes.
#ifdef DIRECT
    let slot0 = params.dst_off + row * params.dst_stride + head0 * HEAD_DIM;
#else
    let slot_size = params.splits * (QUADS + 1u);
    let slot0 = (row * params.n_head + head0) * slot_size + split * (QUADS + 1u);
    if (begin >= end) {
        if (lid < heads) {
            found[slot0 + lid * slot_size + QUADS] = vec4<f32>(LOWEST, 0.0, 0.0, 0.0);
        }
        return;
    }
#endif
    let stop = min(begin + share, end);
    let last = stop - 1u;

    for (var i = lid; i < QUERIES; i = i + WG_SIZE) {
        let h = i / Q_ROW;
        let c = i % Q_ROW;
        var v = vec4<f32>();
        if (h < heads && c < QUADS) {
            let at = params.q_off + row * params.q_stride + (head0 + h) * HEAD_DIM + 4u * c;
            v = vec4<f32>(q[at], q[at + 1u], q[at + 2u], q[at + 3u]);
        }
        queries[i] = v;
    }
    workgroupBarrier();

    let k_row = params.k_stride / 4u;
    let v_row = params.v_stride / 4u;
    let k0 = params.k_off / 4u + kv_head * UNITS;
    let v0 = params.v_off / 4u + kv_head * UNITS;
    let lane = lid % TEAM;
    let team = lid / TEAM;
    let col = lid % UNITS;
    let band = lid / UNITS; // of threads that add up the same positions, BANDS in all
    let scorer = lid < SCORERS;
    let head = lid / TEAMS; // of a scorer
    var top = LOWEST;       // of the head's scores so far
    var sum = 0.0;          // of the scorer's weights so far
#ifdef SINKS
    if (head < heads) {
        top = max(sinks[params.sinks_off + head0 + head], LOWEST);
        sum = select(0.0, 1.0, lid % TEAMS == 0u); // the sink's weight, counted once
    }
#endif
    var o0: Four; // values of heads 0 to 3, in elements 4*col.. or the first half of 8*col..
#ifdef HALF
    var p0: Four; // and in the second half
#endif
#if HEADS == 8
    var o1: Four; // of heads 4 to 7
#ifdef HALF
    var p1: Four;
#endif
#endif
    for (var tile = begin; tile < stop; tile = tile + TILE) {
        // Four positions a team, a quarter of the tile apart; the last again past the end.
        let r0 = k0 + min(tile + team, last) * k_row;
        let r1 = k0 + min(tile + team + TEAMS, last) * k_row;
        let r2 = k0 + min(tile + team + 2u * TEAMS, last) * k_row;
        let r3 = k0 + min(tile + team + 3u * TEAMS, last) * k_row;
        var s0: Four;
#if HEADS == 8
        var s1: Four;
#endif
        let first = min(lane, UNITS - 1u);
        var n0 = kc[r0 + first];
        var n1 = kc[r1 + first];
        var n2 = kc[r2 + first];
        var n3 = kc[r3 + first];
        for (var i = 0u; i < STEPS; i = i + 1u) {
            let x0 = n0;
            let x1 = n1;
            let x2 = n2;
            let x3 = n3;
            if (i + 1u < STEPS) { // the next ones are under way while these are multiplied
                let c = min((i + 1u) * TEAM + lane, UNITS - 1u);
                n0 = kc[r0 + c];
                n1 = kc[r1 + c];
                n2 = kc[r2 + c];
                n3 = kc[r3 + c];
            }
            let at = (i * TEAM + lane) * PIECES;
            s0 = scored(s0, 0u, at, low(x0), low(x1), low(x2), low(x3));
#ifdef HALF
            s0 = scored(s0, 0u, at + 1u, high(x0), high(x1), high(x2), high(x3));
#endif
#if HEADS == 8
            s1 = scored(s1, 4u, at, low(x0), low(x1), low(x2), low(x3));
#ifdef HALF
            s1 = scored(s1, 4u, at + 1u, high(x0), high(x1), high(x2), high(x3));
#endif
#endif
        }
