// dst[r, o] = sum over k of x[r, k] * w[o, k] for many rows. A workgroup computes a tile of TM×TN outputs, each thread
// 8×8 of them in registers; DEPTH columns of x and w at a time stand in workgroup memory, w decoded. w is packed
// (gpu/pack.go) or a weight of any format in its own layout.
#define WEIGHT w
#define SCALES scales
#include "common_decls.tmpl"
#ifdef PACKED
#include "decode_packed.tmpl"
#else
#include "decode.tmpl"
#endif
#include "matmul_params.tmpl"

@group(0) @binding(0) var<storage, read> w: array<u32>;
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

const ACROSS: u32 = TN / 8u;               // threads along a row of the tile
const QUADS: u32 = DEPTH / 4u;             // vectors of four columns
const X_STAGE: u32 = DEPTH * TM / 4u;
const W_STAGE: u32 = DEPTH * TN / 4u;

// Column k of the stage is a row here: [DEPTH, TM/4] and [DEPTH, TN/4].
var<workgroup> x_stage: array<vec4<f32>, X_STAGE>;
var<workgroup> w_stage: array<vec4<f32>, W_STAGE>;

// Elements k to k+3 of a row of x, zeros outside.
fn x_quad(r: u32, k: u32) -> vec4<f32> {
    var v = vec4<f32>();
    if (r < params.rows) {
        let at = params.x_off + r * params.x_stride + k;
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

fn w_quad(o: u32, k: u32) -> vec4<f32> {
    var v = vec4<f32>();
    if (o < params.m) {
#ifdef PACKED
        // The last group of a row is filled up with zeros.
        return weight4(params.row0 + o, params.groups, k / 4u);
#else
        let at = (params.row0 + o) * params.k + k;
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
    let tiles = (params.m + TN - 1u) / TN; // in a row of tiles
    let tile = folded_id(wg, num);
    let row0 = tile / tiles * TM;
    let col0 = tile % tiles * TN;
    if (row0 >= params.rows) {
        return;
    }
    let ty = lid / ACROSS;
    let tx = lid % ACROSS;

    var sums: array<vec4<f32>, 16>; // row i of 8: columns 4*tx.. in [2i], and TN/2 + 4*tx.. in [2i + 1]
    for (var k0 = 0u; k0 < params.k; k0 = k0 + DEPTH) {
        for (var i = lid; i < TM * QUADS; i = i + THREADS) {
            let r = i / QUADS;
            let q = i % QUADS;
            let v = x_quad(row0 + r, k0 + 4u * q);
            for (var j = 0u; j < 4u; j = j + 1u) {
                x_stage[(4u * q + j) * (TM / 4u) + r / 4u][r & 3u] = v[j];
            }
        }
        for (var i = lid; i < TN * QUADS; i = i + THREADS) {
            let o = i / QUADS;
            let q = i % QUADS;
            let v = w_quad(col0 + o, k0 + 4u * q);
            for (var j = 0u; j < 4u; j = j + 1u) {
                w_stage[(4u * q + j) * (TN / 4u) + o / 4u][o & 3u] = v[j];
            }
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
        let r = row0 + i / 4u * (TM / 2u) + 4u * ty + (i & 3u);
        if (r >= params.rows) {
            continue;
        }
        for (var j = 0u; j < 8u; j = j + 1u) {
            let o = col0 + j / 4u * (TN / 2u) + 4u * tx + (j & 3u);
            if (o < params.m) {
                dst[params.dst_off + r * params.dst_stride + o] = sums[2u * i + j / 4u][j & 3u];
            }
        }
    }
}
