// dst[r, o] = sum over k of x[r, k] * w[o, k] for many rows. A workgroup of 16×16 threads computes a square of
// TILE×TILE outputs: it stages DEPTH columns of x and w at a time in workgroup memory, decoded, and each thread
// keeps EACH×EACH sums in registers. w is a weight of any format.
#define THREADS 16u
#define DEPTH 16u
#define WEIGHT w
#include "common_decls.tmpl"
#include "decode.tmpl"
#include "matmul_params.tmpl"

@group(0) @binding(0) var<storage, read> w: array<u32>;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> dst: array<f32>;
@group(0) @binding(3) var<uniform> params: MatMulParams;

const EACH: u32 = TILE / THREADS;
const STAGE: u32 = DEPTH * TILE;

// [DEPTH, TILE]: column k of the stage is a row here, so that neighbouring threads read neighbouring words.
var<workgroup> x_stage: array<f32, STAGE>;
var<workgroup> w_stage: array<f32, STAGE>;

// Stages columns k0..k0+DEPTH-1, zeros outside the matrices. Neighbouring threads load neighbouring columns.
fn stage(lid: u32, row0: u32, col0: u32, k0: u32) {
    let column = lid % DEPTH;
    let k = k0 + column;
    for (var i = lid / DEPTH; i < TILE; i = i + THREADS * THREADS / DEPTH) {
        var xv = 0.0;
        var wv = 0.0;
        if (k < params.k) {
            if (row0 + i < params.rows) {
                xv = x[params.x_off + (row0 + i) * params.x_stride + k];
            }
            if (col0 + i < params.m) {
                wv = weight_at((col0 + i) * params.k + k);
            }
        }
        x_stage[column * TILE + i] = xv;
        w_stage[column * TILE + i] = wv;
    }
}

@compute @workgroup_size(THREADS, THREADS)
fn matmul(
    @builtin(workgroup_id) wg: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_id) thread: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let tiles = (params.m + TILE - 1u) / TILE; // in a row of tiles
    let tile = folded_id(wg, num);
    let row0 = tile / tiles * TILE;
    let col0 = tile % tiles * TILE;
    if (row0 >= params.rows) {
        return;
    }

    var sums: array<array<f32, EACH>, EACH>;
    for (var k0 = 0u; k0 < params.k; k0 = k0 + DEPTH) {
        stage(lid, row0, col0, k0);
        workgroupBarrier();
        for (var k = 0u; k < DEPTH; k = k + 1u) {
            for (var i = 0u; i < EACH; i = i + 1u) {
                let xv = x_stage[k * TILE + thread.y + i * THREADS];
                for (var j = 0u; j < EACH; j = j + 1u) {
                    sums[i][j] = sums[i][j] + xv * w_stage[k * TILE + thread.x + j * THREADS];
                }
            }
        }
        workgroupBarrier();
    }

    for (var i = 0u; i < EACH; i = i + 1u) {
        let r = row0 + thread.y + i * THREADS;
        for (var j = 0u; j < EACH; j = j + 1u) {
            let o = col0 + thread.x + j * THREADS;
            if (r < params.rows && o < params.m) {
                dst[params.dst_off + r * params.dst_stride + o] = sums[i][j];
            }
        }
    }
}
