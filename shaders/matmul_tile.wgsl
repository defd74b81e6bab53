// dst[r, o] = sum over k of x[r, k] * w[o, k] for many rows. A workgroup computes a tile of TM×TN outputs, each thread
// 8×8 of them in registers; DEPTH columns of x and w at a time stand in workgroup memory, w decoded. w is packed
// (gpu/pack.go) or a weight of any format in its own layout. With GATHER each row has the matrix of an expert.
#define WEIGHT w
#define SCALES scales
#include "common_decls.tmpl"
#ifdef PACKED
#include "packed_unit.tmpl"
#else
#define QUANTS u32
#include "decode.tmpl"
#endif
#ifdef GATHER
#include "expert_tile.tmpl"
#else
#include "matmul_params.tmpl"

@group(0) @binding(0) var<storage, read> w: array<QUANTS>;
#ifdef PACKED
@group(0) @binding(1) var<storage, read> scales: array<u32>;
@group(0) @binding(2) var<storage, read> x: array<f32>;
@group(0) @binding(3) var<storage, read_write> dst: array<f32>;
@group(0) @binding(4) var<uniform> params: MatMulParams;
#else
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> dst: array<f32>;
@group(0) @binding(3) var<uniform> params: MatMulParams;
#endif

fn tile_of(id: u32) -> Tile {
    let across = (params.m + TN - 1u) / TN; // tiles in a row of tiles
    let row0 = id / across * TM;
    let col0 = id % across * TN;
    return Tile(row0, max(params.rows, row0) - row0, col0, params.m - col0, params.row0 + col0, params.k);
}

fn x_start(t: Tile, r: u32) -> u32 {
    return params.x_off + (t.row0 + r) * params.x_stride;
}

fn dst_start(t: Tile, r: u32) -> u32 {
    return params.dst_off + (t.row0 + r) * params.dst_stride + t.col0;
}
#endif

// What a workgroup computes: row0 and col0 are its first row and column, from which on there are so many of them; those past
// TM and TN are others'. w_row is the row of w of its first column. The sums are over k elements.
struct Tile {
    row0: u32,
    rows: u32,
    col0: u32,
    cols: u32,
    w_row: u32,
    k: u32,
}

const ACROSS: u32 = TN / 8u;               // threads along a row of the tile
const QUADS: u32 = DEPTH / 4u;             // vectors of four columns
const X_STAGE: u32 = DEPTH * TM / 4u;
const W_STAGE: u32 = DEPTH * TN / 4u;

// Column k of the stage is a row here: [DEPTH, TM/4] and [DEPTH, TN/4].
var<workgroup> x_stage: array<vec4<f32>, X_STAGE>;
var<workgroup> w_stage: array<vec4<f32>, W_STAGE>;

// Elements k to k+3 of row r of the tile, zeros outside.
fn x_quad(t: Tile, r: u32, k: u32) -> vec4<f32> {
    var v = vec4<f32>();
    if (r < t.rows) {
        let at = x_start(t, r) + k;
        if (k + 3u < params.k) {
            return vec4<f32>(x[at], x[at + 1u], x[at + 2u], x[at + 3u]);
        }
        for (var j = 0u; j < 4u; j = j + 1u) {
            if (k + j < params.k) {
                v[j] = x[at + j];
            }
        }
    }
    return v;
}

// The same of the matrix's row for column o of the tile.
fn w_quad(t: Tile, o: u32, k: u32) -> vec4<f32> {
    var v = vec4<f32>();
    if (o < t.cols) {
#ifdef PACKED
        if (k < params.k) {
            return weight4(t.w_row + o, params.row_units, k / 4u);
        }
#else
        let at = (t.w_row + o) * params.k + k;
        if (k + 3u < params.k) {
            return vec4<f32>(weight_at(at), weight_at(at + 1u), weight_at(at + 2u), weight_at(at + 3u));
        }
        for (var j = 0u; j < 4u; j = j + 1u) {
            if (k + j < params.k) {
                v[j] = weight_at(at + j);
            }
        }
#endif
    }
    return v;
}

@compute @workgroup_size(THREADS)
fn matmul_tile(
    @builtin(workgroup_id) wg: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let t = tile_of(folded_id(wg, num));
    if (t.rows == 0u) {
        return;
    }
#ifdef GATHER
    find_rows(t, lid);
#endif
    let ty = lid / ACROSS;
    let tx = lid % ACROSS;

    var sums: array<vec4<f32>, 16>; // row i of 8: columns 4*tx.. in [2i], and TN/2 + 4*tx.. in [2i + 1]
    for (var k0 = 0u; k0 < t.k; k0 = k0 + DEPTH) {
        // A thread turns four rows of four elements into four columns: no two write to one vector.
        for (var i = lid; i < TM / 4u * QUADS; i = i + THREADS) {
            let r = i / QUADS;
            let q = 4u * (i % QUADS);
            let k = k0 + q;
            let v = transpose(mat4x4<f32>(
                x_quad(t, 4u * r, k), x_quad(t, 4u * r + 1u, k), x_quad(t, 4u * r + 2u, k), x_quad(t, 4u * r + 3u, k),
            ));
            let to = q * (TM / 4u) + r;
            x_stage[to] = v[0];
            x_stage[to + TM / 4u] = v[1];
            x_stage[to + TM / 2u] = v[2];
            x_stage[to + TM / 4u * 3u] = v[3];
        }
        for (var i = lid; i < TN / 4u * QUADS; i = i + THREADS) {
            let o = i / QUADS;
            let q = 4u * (i % QUADS);
            let k = k0 + q;
            let v = transpose(mat4x4<f32>(
                w_quad(t, 4u * o, k), w_quad(t, 4u * o + 1u, k), w_quad(t, 4u * o + 2u, k), w_quad(t, 4u * o + 3u, k),
            ));
            let to = q * (TN / 4u) + o;
            w_stage[to] = v[0];
            w_stage[to + TN / 4u] = v[1];
            w_stage[to + TN / 2u] = v[2];
            w_stage[to + TN / 4u * 3u] = v[3];
        }
        workgroupBarrier();
        for (var k = 0u; k < DEPTH; k = k + 1u) {
            let a0 = x_stage[k * (TM / 4u) + ty];
            let a1 = x_stage[k * (TM / 4u) + TM / 8u + ty];
            let b0 = w_stage[k * (TN / 4u) + tx];
            let b1 = w_stage[k * (TN / 4u) + TN / 8u + tx];
            sums[0] = sums[0] + a0.x * b0;
            sums[1] = sums[1] + a0.x * b1;
            sums[2] = sums[2] + a0.y * b0;
            sums[3] = sums[3] + a0.y * b1;
            sums[4] = sums[4] + a0.z * b0;
            sums[5] = sums[5] + a0.z * b1;
            sums[6] = sums[6] + a0.w * b0;
            sums[7] = sums[7] + a0.w * b1;
            sums[8] = sums[8] + a1.x * b0;
            sums[9] = sums[9] + a1.x * b1;
            sums[10] = sums[10] + a1.y * b0;
            sums[11] = sums[11] + a1.y * b1;
            sums[12] = sums[12] + a1.z * b0;
            sums[13] = sums[13] + a1.z * b1;
            sums[14] = sums[14] + a1.w * b0;
            sums[15] = sums[15] + a1.w * b1;
        }
        workgroupBarrier();
    }

    for (var i = 0u; i < 8u; i = i + 1u) {
        let r = i / 4u * (TM / 2u) + 4u * ty + (i & 3u);
        if (r >= t.rows) {
            continue;
        }
        let to = dst_start(t, r);
        for (var j = 0u; j < 8u; j = j + 1u) {
            let o = j / 4u * (TN / 2u) + 4u * tx + (j & 3u);
            if (o < t.cols) {
                dst[to + o] = sums[2u * i + j / 4u][j & 3u];
            }
        }
    }
}
