// Copies rows of a matrix, decoded, to panels. w is a matrix of any format in its own layout. With GATHER the panels hold the rows of x
// that the tiles of slots want, in the order of expert_sort.wgsl.
#define WG_SIZE 128u
#define WEIGHT w
#include "common_decls.tmpl"
#include "decode.tmpl"
#include "panel_params.tmpl"

@group(0) @binding(0) var<storage, read> w: array<u32>;
#ifdef GATHER
@group(0) @binding(1) var<storage, read> order: array<u32>;
@group(0) @binding(2) var<storage, read_write> dst: array<vec4<f32>>;
@group(0) @binding(3) var<uniform> params: PanelParams;
#else
@group(0) @binding(1) var<storage, read_write> dst: array<vec4<f32>>;
@group(0) @binding(2) var<uniform> params: PanelParams;
#endif

const DEEP: u32 = 32u; // elements of a row that a workgroup copies
const NONE: u32 = 0xffffffffu;

// The row of w that is row r of all panels, if there is one.
fn row_of(r: u32) -> u32 {
#ifdef GATHER
    let tile = params.slots + r / WIDTH * 3u;
    if (r % WIDTH < order[tile + 2u]) {
        return order[order[tile + 1u] + r % WIDTH] / params.per_row;
    }
    return NONE;
#else
    return select(NONE, params.row0 + r, r < params.rows);
#endif
}

// Elements k to k+3 of row r of all panels.
fn quad(r: u32, k: u32) -> vec4<f32> {
    var v = vec4<f32>();
    let row = row_of(r);
    if (row != NONE) {
        let at = params.off + row * params.stride + k;
        if (k + 3u < params.k) {
            return vec4<f32>(weight_at(at), weight_at(at + 1u), weight_at(at + 2u), weight_at(at + 3u));
        }
        for (var j = 0u; j < 4u; j = j + 1u) {
            if (k + j < params.k) {
                v[j] = weight_at(at + j);
            }
        }
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
#ifdef GATHER
    if (order[params.slots + 3u * p + 2u] == 0u) {
        return;
    }
#endif
    // Eight neighbours write one line, four read neighbouring elements of a row.
    for (var i = lid; i < ACROSS * (DEEP / 4u); i = i + WG_SIZE) {
        let four = i % 8u + i / 32u % (ACROSS / 8u) * 8u;
        let k = params.k0 + id % deeps * DEEP + 4u * (i / 8u % 4u + i / 32u / (ACROSS / 8u) * 4u);
        let r = p * WIDTH + 4u * four;
        put(p, four, k, quad(r, k), quad(r + 1u, k), quad(r + 2u, k), quad(r + 3u, k));
    }
}
