// Causal attention for few rows: the positions that a row sees are split among workgroups, one for each row, split, KV head
// and part of up to HEADS of its query heads, which read the KV head's keys and values once for all of them. A workgroup
// leaves for each of its heads the sum of the values by their weights, not yet divided, and behind it the largest score and
// the sum of the weights; attention_merge.wgsl puts the splits together. With DIRECT there is one split, which is the result.
//
// A tile of TILE positions at a time: a team of TEAM threads multiplies four keys with all queries, the threads' sums meet in
// workgroup memory, and then all threads add up values, neighbours reading neighbouring elements.
#define WG_SIZE 128u
#include "common_decls.tmpl"
#include "attention_params.tmpl"
#include "attention_cache.tmpl"
#include "attention_heads.tmpl"

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

const TILE: u32 = 64u;                         // positions
const TEAM: u32 = 8u;                          // threads that share a key
const TEAMS: u32 = WG_SIZE / TEAM;             // of four keys each
const STEPS: u32 = (UNITS + TEAM - 1u) / TEAM; // units of a key that a thread reads
const Q_ROW: u32 = STEPS * TEAM * PIECES;      // a query in workgroup memory, filled up with zeros
const SCORERS: u32 = HEADS * TEAMS;            // threads that hold four scores each
const LANE_ROW: u32 = SCORERS + 1u;            // one more, so that a team's threads write to different banks
const QUERIES: u32 = HEADS * Q_ROW;
const PARTIALS: u32 = TEAM * LANE_ROW;
const BAND_ROW: u32 = BANDS * QUADS;           // a head's sums of values
const SUMMED: u32 = PARTIALS / BAND_ROW;       // heads whose sums of values are put together at a time, at most

// A vector in workgroup memory is written by one thread: WGSL lets a device write all of it for one component.
var<workgroup> queries: array<vec4<f32>, QUERIES>;
var<workgroup> partial: array<vec4<f32>, PARTIALS>; // [TEAM, HEADS, TEAMS] of positions; at the end [SUMMED, BANDS, QUADS]
var<workgroup> weights: array<vec4<f32>, SCORERS>;  // [HEADS, TEAMS] of four positions
var<workgroup> tops: array<f32, SCORERS>;           // of the tile's scores; at the end sums of weights
var<workgroup> fades: array<f32, HEADS>;            // at the end the largest scores

// The largest of a head's tops.
fn top_of(head: u32) -> f32 {
    var top = tops[head * TEAMS];
    for (var i = 1u; i < TEAMS; i = i + 1u) {
        top = max(top, tops[head * TEAMS + i]);
    }
    return top;
}

// The sum of a head's weights, at the end.
fn weights_of(head: u32) -> f32 {
    var sum = 0.0;
    for (var i = 0u; i < TEAMS; i = i + 1u) {
        sum = sum + tops[head * TEAMS + i];
    }
    return sum;
}

@compute @workgroup_size(WG_SIZE)
fn attention_split(
    @builtin(workgroup_id) wg: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    // Workgroups that read the same or neighbouring memory stand side by side: rows, parts, KV heads, then splits.
    let id = folded_id(wg, num);
    let row = id % params.rows;
    let first = id / params.rows % params.parts * HEADS; // of the KV head's query heads
    let kv_head = id / (params.rows * params.parts) % params.n_kv;
    let split = id / (params.rows * params.parts * params.n_kv);
    if (split >= params.splits) {
        return;
    }
    let group = params.n_head / params.n_kv;
    let heads = min(HEADS, group - first);
    let head0 = kv_head * group + first;
    let end = end_of(pos[params.pos_off + row]);
    let start = start_of(end);
    let share = share_of(end - start, TILE);
    let begin = start + split * share;
#ifndef DIRECT
    let slot_size = params.splits * (QUADS + 1u); // from a head to the next
    let slot = (row * params.n_head + head0) * slot_size + split * (QUADS + 1u);
    if (begin >= end) {
        if (lid < heads) {
            found[slot + lid * slot_size + QUADS] = vec4<f32>(LOWEST, 0.0, 0.0, 0.0);
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
    let lane = lid % TEAM;
    let team = lid / TEAM;
    let band = lid / UNITS; // threads that add up the same positions
    let v0 = params.v_off / 4u + kv_head * UNITS + lid % UNITS;
    let head = lid / TEAMS; // of a scorer
    var top = LOWEST;       // of the head's scores so far
    var sum = 0.0;          // of the scorer's weights so far
#ifdef SINKS
    if (head < heads) {
        top = max(sinks[params.sinks_off + head0 + head], LOWEST);
        sum = select(0.0, 1.0, lid % TEAMS == 0u); // the sink's weight, counted once
    }
#endif
    var o: Values; // this thread's unit of each head's
    for (var tile = begin; tile < stop; tile = tile + TILE) {
        let held = held_values(v0, v_row, tile, last, band); // on their way while keys are multiplied
        // The team's four positions lie a quarter of the tile apart; past the end they are the last again.
        let s = key_products(
            k0 + min(tile + team, last) * k_row, k0 + min(tile + team + TEAMS, last) * k_row,
            k0 + min(tile + team + 2u * TEAMS, last) * k_row, k0 + min(tile + team + 3u * TEAMS, last) * k_row, lane,
        );
        put_products(lane * LANE_ROW + team, s);
        workgroupBarrier();
        // A scorer adds up a team's sums for four positions and a head.
        let seen = vec4<u32>(tile + lid % TEAMS) + vec4<u32>(0u, TEAMS, 2u * TEAMS, 3u * TEAMS) < vec4<u32>(stop);
        var score = vec4<f32>();
        if (lid < SCORERS) {
            for (var i = 0u; i < TEAM; i = i + 1u) {
                score = score + partial[i * LANE_ROW + lid];
            }
            score = select(vec4<f32>(LOWEST), scores_of(score), seen);
            tops[lid] = max4(score);
        }
        workgroupBarrier();
        if (lid < SCORERS) {
            let highest = max(top, top_of(head));
            let fade = exp(top - highest); // of what was summed under the former largest score
            let w = select(vec4<f32>(), exp(score - highest), seen);
            top = highest;
            sum = sum * fade + sum4(w);
            weights[lid] = w;
            if (lid % TEAMS == 0u) {
                fades[head] = fade;
            }
        }
        workgroupBarrier();
        if (band < BANDS) {
            o = add_values(faded(o), held, v0, v_row, tile, last, band);
        }
        // The next tile writes weights and fades two barriers from here.
    }
    workgroupBarrier();
    if (lid < SCORERS) {
        tops[lid] = sum;
        if (lid % TEAMS == 0u) {
            fades[head] = top;
        }
    }
    for (var h0 = 0u; h0 < heads; h0 = h0 + SUMMED) {
        if (h0 > 0u) {
            workgroupBarrier();
        }
        if (band < BANDS) {
            for (var j = 0u; j < SUMMED; j = j + 1u) {
                let at = j * BAND_ROW + band * QUADS + lid % UNITS * PIECES;
                partial[at] = of_head(o.low, h0 + j);
#ifdef HALF
                partial[at + 1u] = of_head(o.high, h0 + j);
#endif
            }
        }
        workgroupBarrier();
        for (var i = lid; i < SUMMED * QUADS; i = i + WG_SIZE) {
            let h = h0 + i / QUADS;
            if (h >= heads) {
                break;
            }
            let c = i % QUADS;
            var v = vec4<f32>();
            for (var j = 0u; j < BANDS; j = j + 1u) {
                v = v + partial[i / QUADS * BAND_ROW + j * QUADS + c];
            }
#ifdef DIRECT
            v = v / weights_of(h);
            let to = params.dst_off + row * params.dst_stride + (head0 + h) * HEAD_DIM + 4u * c;
            for (var j = 0u; j < 4u; j = j + 1u) {
                dst[to + j] = v[j];
            }
#else
            found[slot + h * slot_size + c] = v;
            if (c == 0u) {
                found[slot + h * slot_size + QUADS] = vec4<f32>(fades[h], weights_of(h), 0.0, 0.0);
            }
#endif
        }
    }
}
