// dst[r, o] = sum over k of x[r, k] * w[o, k] for many rows, where both matrices lie in panels (panel.wgsl): x in panels of TM
// rows, w of TN. A workgroup computes a tile of TM×TN outputs, each thread 8×8 of them in registers. DEPTH elements of the
// panels at a time stand in workgroup memory, as they come from memory, while the next are on their way. Rows too long for the panels come
// in stretches: add says that dst has the sums up to this one. With GATHER each row has the matrix of an expert.
#include "common_decls.tmpl"

// What a workgroup computes. Of panels x and w it multiplies elements k to end-1; of the tile there are so many rows, and it writes
// columns lo to hi-1.
struct Tile {
    x: u32,
    w: u32,
    k: u32,
    end: u32,
    rows: u32,
    lo: u32,
    hi: u32,
    first: u32, // where dst_start finds its rows
    col0: u32,  // column of dst of the tile's first
}

#ifdef GATHER
#include "expert_panel.tmpl"
#else
// With several parts each sums over its share of the elements, to an output of its own (matmul_sum.wgsl).
struct MatMulPanelParams {
    depth: u32,
    m: u32,
    rows: u32,
    dst_off: u32,
    dst_stride: u32,
    part: u32,
    parts: u32,
    add: u32,
}

@group(0) @binding(0) var<storage, read> w: array<vec4<f32>>; // [panels, depth, TN/4]
@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>; // [panels, depth, TM/4]
@group(0) @binding(2) var<storage, read_write> dst: array<f32>;
@group(0) @binding(3) var<uniform> params: MatMulPanelParams;

fn tile_of(id: u32) -> Tile {
    // Neighbouring workgroups share a panel of w, of which there is more.
    let down = (params.rows + TM - 1u) / TM;
    let across = (params.m + TN - 1u) / TN;
    let i = id % down;
    let j = id / down % across;
    let part = id / (down * across);
    let k = part * params.part;
    return Tile(
        i, j, k, min(k + params.part, params.depth), select(0u, params.rows - i * TM, part < params.parts),
        0u, params.m - j * TN, part * params.rows + i * TM, j * TN,
    );
}

// Where row r of the tile begins in dst.
fn dst_start(t: Tile, r: u32) -> u32 {
    return params.dst_off + (t.first + r) * params.dst_stride + t.col0;
}
#endif

const ACROSS: u32 = TN / 8u;               // threads along a row of the tile
const X_STAGE: u32 = DEPTH * TM / 4u;
const W_STAGE: u32 = DEPTH * TN / 4u;
const X_LOADS: u32 = X_STAGE / THREADS;
const W_LOADS: u32 = W_STAGE / THREADS;

var<workgroup> x_stage: array<vec4<f32>, X_STAGE>;
var<workgroup> w_stage: array<vec4<f32>, W_STAGE>;

@compute @workgroup_size(THREADS)
fn matmul_panel(
    @builtin(workgroup_id) wg: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let t = tile_of(folded_id(wg, num));
    if (t.rows == 0u) {
        return;
    }
    let x0 = t.x * params.depth * (TM / 4u) + lid;
    let w0 = t.w * params.depth * (TN / 4u) + lid;
    // Two lanes that differ in one of the lowest bits read the same four columns.
    let ty = lid / 2u / ACROSS * 2u + (lid & 1u);
    let tx = lid / 2u % ACROSS;

    var next_x: array<vec4<f32>, X_LOADS>;
    var next_w: array<vec4<f32>, W_LOADS>;
    for (var n = 0u; n < X_LOADS; n = n + 1u) {
        next_x[n] = x[x0 + t.k * (TM / 4u) + n * THREADS];
    }
    for (var n = 0u; n < W_LOADS; n = n + 1u) {
        next_w[n] = w[w0 + t.k * (TN / 4u) + n * THREADS];
    }
    var sums: array<vec4<f32>, 16>; // row i of 8: columns 4*tx.. in [2i], and TN/2 + 4*tx.. in [2i + 1]
    if (params.add != 0u) {
        for (var n = 0u; n < 8u; n = n + 1u) {
            let r = n / 4u * (TM / 2u) + 4u * ty + (n & 3u);
            let at = dst_start(t, r);
            for (var c = 0u; c < 8u; c = c + 1u) {
                let o = c / 4u * (TN / 2u) + 4u * tx + (c & 3u);
                if (r < t.rows && o >= t.lo && o < t.hi) {
                    sums[2u * n + c / 4u][c & 3u] = dst[at + o];
                }
            }
        }
    }
    for (var k0 = t.k; k0 < t.end; k0 = k0 + DEPTH) {
        for (var n = 0u; n < X_LOADS; n = n + 1u) {
            x_stage[lid + n * THREADS] = next_x[n];
        }
        for (var n = 0u; n < W_LOADS; n = n + 1u) {
            w_stage[lid + n * THREADS] = next_w[n];
        }
        workgroupBarrier();
        if (k0 + DEPTH < t.end) {
            for (var n = 0u; n < X_LOADS; n = n + 1u) {
                next_x[n] = x[x0 + (k0 + DEPTH) * (TM / 4u) + n * THREADS];
            }
            for (var n = 0u; n < W_LOADS; n = n + 1u) {
                next_w[n] = w[w0 + (k0 + DEPTH) * (TN / 4u) + n * THREADS];
            }
        }
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

    for (var n = 0u; n < 8u; n = n + 1u) {
        let r = n / 4u * (TM / 2u) + 4u * ty + (n & 3u);
        if (r >= t.rows) {
            continue;
        }
        let to = dst_start(t, r);
        for (var c = 0u; c < 8u; c = c + 1u) {
            let o = c / 4u * (TN / 2u) + 4u * tx + (c & 3u);
            if (o >= t.lo && o < t.hi) {
                dst[to + o] = sums[2u * n + c / 4u][c & 3u];
            }
        }
    }
}
