// Causal attention for many rows, a tile of ROWS queries and COLS keys at a time. The queries of a workgroup are those of one
// KV head: query m belongs to token m / group and to query head m % group of the KV head's. Each thread has eight queries,
// and of them the scores of COLS/16 columns and the values of every sixteenth vector; queries, keys and values pass through
// workgroup memory, DEPTH4 vectors of a row or VALUE_ROWS rows at a time. Tiles that no query sees are skipped.
//
// With DIRECT a workgroup writes the result. Without, the positions are split among workgroups, which leave what
// attention_merge.wgsl puts together.
#define WG_SIZE 128u
#include "common_decls.tmpl"
#include "attention_params.tmpl"
#include "attention_cache.tmpl"
#include "attention_eight.tmpl"

@group(0) @binding(0) var<storage, read> q: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> kc: array<CACHE_UNIT>;
@group(0) @binding(2) var<storage, read> vc: array<CACHE_UNIT>;
@group(0) @binding(3) var<storage, read> pos: array<u32>;
@group(0) @binding(4) var<storage, read_write> dst: array<vec4<f32>>; // without DIRECT [rows, heads, splits, QUADS + 1]
#ifdef SINKS
@group(0) @binding(5) var<storage, read> sinks: array<f32>;
@group(0) @binding(6) var<uniform> params: AttentionParams;
#else
@group(0) @binding(5) var<uniform> params: AttentionParams;
#endif

const ROWS: u32 = 64u;
const UNITS_DEEP: u32 = DEPTH4 / PIECES;   // units of a key in the stage
const KEYS_AT: u32 = ROWS * DEPTH4;        // in the stage: queries, then keys
const KEY_ROW: u32 = DEPTH4 + 1u;          // one more, so that columns lie in different banks
const LANE_ROW: u32 = ROWS / 4u + 1u;
const VALUES_AT: u32 = 16u * LANE_ROW;     // or weights of 16 columns, then values

// A vector in workgroup memory is written by one thread: WGSL lets a device write all of it for one component.
var<workgroup> stage: array<vec4<f32>, STAGE>;
var<workgroup> row_end: array<u32, ROWS>;   // one past the last position seen
var<workgroup> row_top: array<f32, ROWS>;   // the largest score so far
var<workgroup> row_fade: array<f32, ROWS>;  // of what was summed before; at the end the sums of weights
var<workgroup> row_query: array<u32, ROWS>; // first vector in q

// Keys or values of position p, unit c, into the stage.
fn put_units(at: u32, unit: CACHE_UNIT) {
    stage[at] = low(unit);
#ifdef HALF
    stage[at + 1u] = high(unit);
#endif
}

@compute @workgroup_size(WG_SIZE)
fn attention_tile(
    @builtin(workgroup_id) wg: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let group = params.n_head / params.n_kv;
    let count = params.rows * group; // of queries
    let tiles = (count + ROWS - 1u) / ROWS;
    let id = folded_id(wg, num);
    let kv_head = id % params.n_kv;
    let split = id / params.n_kv % params.splits;
    let nth = id / (params.n_kv * params.splits);
    if (nth >= tiles) {
        return;
    }
    let m0 = (tiles - 1u - nth) * ROWS; // the last tokens see most: they begin first
    let head0 = kv_head * group;
    var least = params.positions; // smallest and largest end of a row
    var most = 0u;
    for (var t = m0 / group; t <= (min(m0 + ROWS, count) - 1u) / group; t = t + 1u) {
        let end = end_of(pos[params.pos_off + t]);
        least = min(least, end);
        most = max(most, end);
    }
    let start = start_of(least);
    let share = share_of(most - start, COLS);
    let begin = start + split * share;
    let stop = min(begin + share, most);

    // This thread's row where it looks after one: rows past the last query see nothing.
    let m = m0 + lid;
    let token = min(m, count - 1u) / group;
    let head = head0 + min(m, count - 1u) % group;
    var end = 0u;
    if (lid < ROWS && m < count) {
        end = end_of(pos[params.pos_off + token]);
    }
#ifndef DIRECT
    let slot = ((token * params.n_head + head) * params.splits + split) * (QUADS + 1u);
    if (begin >= most) {
        if (end > 0u) {
            dst[slot + QUADS] = vec4<f32>(LOWEST, 0.0, 0.0, 0.0);
        }
        return;
    }
#endif
    if (lid < ROWS) {
        row_end[lid] = end;
        row_query[lid] = (params.q_off + token * params.q_stride) / 4u + head * QUADS;
    }
    let ty = lid / 16u;
    let tx = lid % 16u;
    var top = LOWEST;
    var sums: RowNumbers; // of this thread's columns
#ifdef SINKS
    top = max(sinks[params.sinks_off + head], LOWEST);
    let one = vec4<f32>(select(0.0, 1.0, tx == 0u)); // the sink's weight, counted once
    sums = RowNumbers(one, one);
#endif
    var o: RowUnits;
    for (var tile = begin; tile < stop; tile = tile + COLS) {
        var s = RowScores(); // said outright: some compilers begin a loop with what its last round left
        for (var d = 0u; d < QUADS; d = d + DEPTH4) {
            workgroupBarrier(); // before what the stage holds is overwritten
            for (var i = lid; i < ROWS * DEPTH4; i = i + WG_SIZE) {
                let c = d + i % DEPTH4;
                var v = vec4<f32>();
                if (c < QUADS) {
                    v = q[row_query[i / DEPTH4] + c];
                }
                stage[i] = v; // zeros past the end: what keys stand beside them does not matter
            }
            for (var i = lid; i < COLS * UNITS_DEEP; i = i + WG_SIZE) {
                let c = min(d / PIECES + i % UNITS_DEEP, UNITS - 1u);
                let p = min(tile + i / UNITS_DEEP, stop - 1u);
                let at = (params.k_off + p * params.k_stride) / 4u + kv_head * UNITS + c;
                put_units(KEYS_AT + i / UNITS_DEEP * KEY_ROW + i % UNITS_DEEP * PIECES, kc[at]);
            }
            workgroupBarrier();
            for (var c = 0u; c < DEPTH4; c = c + 1u) {
                s = add_products(s, tx, ty, c);
            }
        }
        s = finished_rows(s, tile + tx, ty, stop, tile + COLS > min(least, stop) || tile < start_of(most));
        let high = largest_of(s);
        workgroupBarrier();
        stage[tx * LANE_ROW + 2u * ty] = high.a;
        stage[tx * LANE_ROW + 2u * ty + 1u] = high.b;
        workgroupBarrier();
        if (lid < ROWS) {
            var highest = top;
            for (var i = 0u; i < 16u; i = i + 1u) {
                highest = max(highest, stage[i * LANE_ROW + lid / 4u][lid % 4u]);
            }
            row_fade[lid] = exp(top - highest);
            row_top[lid] = highest;
            top = highest;
        }
        workgroupBarrier();
        s = weights_of_rows(s, ty);
        let fade = fades_of(ty);
        let more = totals_of(s);
        sums = RowNumbers(sums.a * fade.a + more.a, sums.b * fade.b + more.b);
        o = rows_times(o, fade);
        // Sixteen columns at a time, the first of every thread's; those past stop have no weight.
        for (var k = 0u; k < COLS && tile + k < stop; k = k + 16u) {
            let w = first_of(s);
            s = shifted_rows(s);
            for (var r = 0u; r < 16u; r = r + VALUE_ROWS) {
                workgroupBarrier();
                if (r == 0u) {
                    stage[tx * LANE_ROW + 2u * ty] = w.a;
                    stage[tx * LANE_ROW + 2u * ty + 1u] = w.b;
                }
                for (var i = lid; i < VALUE_ROWS * UNITS; i = i + WG_SIZE) {
                    let p = min(tile + k + r + i / UNITS, stop - 1u);
                    let at = (params.v_off + p * params.v_stride) / 4u + kv_head * UNITS + i % UNITS;
                    put_units(VALUES_AT + i / UNITS * QUADS + i % UNITS * PIECES, vc[at]);
                }
                workgroupBarrier();
                for (var j = 0u; j < VALUE_ROWS; j = j + 1u) {
                    o = add_weighed(o, tx, ty, r + j, j);
                }
            }
        }
    }
    workgroupBarrier();
    stage[tx * LANE_ROW + 2u * ty] = sums.a;
    stage[tx * LANE_ROW + 2u * ty + 1u] = sums.b;
    workgroupBarrier();
    if (lid < ROWS) {
        var sum = 0.0;
        for (var i = 0u; i < 16u; i = i + 1u) {
            sum = sum + stage[i * LANE_ROW + lid / 4u][lid % 4u];
        }
        row_fade[lid] = sum;
#ifndef DIRECT
        if (end > 0u) {
            dst[slot + QUADS] = vec4<f32>(top, sum, 0.0, 0.0);
        }
#endif
    }
    workgroupBarrier();
    write_rows(o, tx, ty, m0, head0, split);
}
