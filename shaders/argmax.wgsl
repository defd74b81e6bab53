// The column of the largest element of each row of x, the lowest of equals, in two steps: PARTS workgroups a row find the
// best of a stretch each, then one workgroup a row finds the best of these. NaN is lower than all.
#define WG_SIZE 256u
#define NAN_KEY 0u
#include "common_decls.tmpl"
#include "largest.tmpl"

struct ArgMaxParams {
    rows: u32,
    n: u32,
    x_off: u32,
    x_stride: u32,
    id_off: u32,
    parts: u32,
    pad0: u32,
    pad1: u32,
}

@group(0) @binding(0) var<storage, read> x: array<u32>;            // bits of f32, so that no compiler takes NaN for granted
@group(0) @binding(1) var<storage, read_write> found: array<u32>;  // [rows, parts], key and column of each
@group(0) @binding(2) var<storage, read_write> ids: array<u32>;
@group(0) @binding(3) var<uniform> params: ArgMaxParams;

@compute @workgroup_size(WG_SIZE)
fn argmax(
    @builtin(workgroup_id) wg: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let id = folded_id(wg, num);
#ifdef MERGE
    let row = id;
    if (row >= params.rows) {
        return;
    }
    var key = 0u;
    var column = 0xffffffffu;
    for (var i = lid; i < params.parts; i = i + WG_SIZE) {
        let k = found[2u * (row * params.parts + i)];
        let c = found[2u * (row * params.parts + i) + 1u];
        if (before(k, c, key, column)) {
            key = k;
            column = c;
        }
    }
    reduce(lid, key, column);
    if (lid == 0u) {
        ids[params.id_off + row] = columns[0];
    }
#else
    let row = id / params.parts;
    if (row >= params.rows) {
        return;
    }
    var key = 0u;
    var column = 0xffffffffu;
    for (var i = id % params.parts * WG_SIZE + lid; i < params.n; i = i + params.parts * WG_SIZE) {
        let k = key_of(x[params.x_off + row * params.x_stride + i]);
        if (before(k, i, key, column)) {
            key = k;
            column = i;
        }
    }
    reduce(lid, key, column);
    if (lid == 0u) {
        found[2u * id] = keys[0];
        found[2u * id + 1u] = columns[0];
    }
#endif
}
