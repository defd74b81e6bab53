// Rotary position embedding in place: pair (a, b) of every head turns by the angle of row pos[r] of the table,
//
//   a' = a*cos - b*sin,  b' = a*sin + b*cos
//
// one workgroup for each row and head. The table comes from the host: sin and cos here are coarse.
#define WG_SIZE 64u
#include "common_decls.tmpl"
#include "rope_pair.tmpl"

struct RoPEParams {
    rows: u32,
    n_head: u32,
    head_dim: u32,
    rot_dim: u32,
    x_off: u32,
    x_stride: u32,
    pos_off: u32,
    table_off: u32,
}

@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@group(0) @binding(1) var<storage, read> pos: array<u32>;
@group(0) @binding(2) var<storage, read> table: array<f32>;
@group(0) @binding(3) var<uniform> params: RoPEParams;

@compute @workgroup_size(WG_SIZE)
fn rope(
    @builtin(workgroup_id) wg: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let id = folded_id(wg, num);
    let row = id / params.n_head;
    if (row >= params.rows) {
        return;
    }
    let base = params.x_off + row * params.x_stride + id % params.n_head * params.head_dim;
    let angles = params.table_off + pos[params.pos_off + row] * params.rot_dim;
    for (var j = lid; j < params.rot_dim / 2u; j = j + WG_SIZE) {
        let at = vec2<u32>(base) + pair(j);
        let t = turned(x[at.x], x[at.y], table[angles + 2u * j], table[angles + 2u * j + 1u]);
        x[at.x] = t.x;
        x[at.y] = t.y;
    }
}
