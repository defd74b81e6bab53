// Copies rows of a matrix, decoded, to panels: a panel holds WIDTH rows, and element k of all of them side by side,
// [depth, WIDTH] in all, so that matmul_panel.wgsl reads both of its operands as they come. Rows past the last and elements
// past a row's end are zeros. w is packed (gpu/pack.go) or a matrix of any format in its own layout.
#define WG_SIZE 128u
#define WEIGHT w
#define SCALES scales
#include "common_decls.tmpl"
#ifdef PACKED
#include "decode_packed.tmpl"
#else
#include "decode.tmpl"
#endif

struct PanelParams {
    k: u32,
    rows: u32,
    off: u32,
    stride: u32,
    row0: u32,
    row_units: u32,
    depth: u32,
    pad0: u32,
}

@group(0) @binding(0) var<storage, read> w: array<u32>;
#ifdef PACKED
@group(0) @binding(1) var<storage, read> scales: array<u32>;
@group(0) @binding(2) var<storage, read_write> dst: array<vec4<f32>>;
@group(0) @binding(3) var<uniform> params: PanelParams;
#else
@group(0) @binding(1) var<storage, read_write> dst: array<vec4<f32>>;
@group(0) @binding(2) var<uniform> params: PanelParams;
#endif

const DEEP: u32 = 32u; // elements of a row that a workgroup copies
const ACROSS: u32 = WIDTH / 4u;

// Elements k to k+3 of row r.
fn quad(r: u32, k: u32) -> vec4<f32> {
    var v = vec4<f32>();
    if (r < params.rows) {
#ifdef PACKED
        if (k < params.k) {
            return weight4(params.row0 + r, params.row_units, k / 4u);
        }
#else
        let at = params.off + (params.row0 + r) * params.stride + k;
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

@compute @workgroup_size(WG_SIZE)
fn panel(
    @builtin(workgroup_id) wg: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let id = folded_id(wg, num);
    let deeps = (params.depth + DEEP - 1u) / DEEP;
    let p = id / deeps;
    if (p * WIDTH >= params.rows) {
        return;
    }
    // Eight neighbours write one line, four read neighbouring elements of a row.
    for (var i = lid; i < ACROSS * (DEEP / 4u); i = i + WG_SIZE) {
        let four = i % 8u + i / 32u % (ACROSS / 8u) * 8u;
        let k = id % deeps * DEEP + 4u * (i / 8u % 4u + i / 32u / (ACROSS / 8u) * 4u);
        if (k >= params.depth) {
            continue;
        }
        let r = p * WIDTH + 4u * four;
        let v = transpose(mat4x4<f32>(quad(r, k), quad(r + 1u, k), quad(r + 2u, k), quad(r + 3u, k)));
        let to = (p * params.depth + k) * ACROSS + four;
        dst[to] = v[0];
        dst[to + ACROSS] = v[1];
        dst[to + 2u * ACROSS] = v[2];
        dst[to + 3u * ACROSS] = v[3];
    }
}
