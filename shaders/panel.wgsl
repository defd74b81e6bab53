// Copies rows of a matrix, decoded, to panels. w is a matrix of any format in its own layout.
#define WG_SIZE 128u
#define WEIGHT w
#include "common_decls.tmpl"
#include "decode.tmpl"
#include "panel_params.tmpl"

@group(0) @binding(0) var<storage, read> w: array<u32>;
@group(0) @binding(1) var<storage, read_write> dst: array<vec4<f32>>;
@group(0) @binding(2) var<uniform> params: PanelParams;

const DEEP: u32 = 32u; // elements of a row that a workgroup copies

// Elements k to k+3 of row r.
fn quad(r: u32, k: u32) -> vec4<f32> {
    var v = vec4<f32>();
    if (r < params.rows) {
        let at = params.off + (params.row0 + r) * params.stride + k;
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
    // Eight neighbours write one line, four read neighbouring elements of a row.
    for (var i = lid; i < ACROSS * (DEEP / 4u); i = i + WG_SIZE) {
        let four = i % 8u + i / 32u % (ACROSS / 8u) * 8u;
        let k = id % deeps * DEEP + 4u * (i / 8u % 4u + i / 32u / (ACROSS / 8u) * 4u);
        let r = p * WIDTH + 4u * four;
        put(p, four, k, quad(r, k), quad(r + 1u, k), quad(r + 2u, k), quad(r + 3u, k));
    }
}
