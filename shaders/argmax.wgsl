// The column of the largest element of each row of x, the lowest of equals, in two steps: PARTS workgroups a row find the
// best of a stretch each, then one workgroup a row finds the best of these. NaN is lower than all.
#define WG_SIZE 256u
#include "common_decls.tmpl"

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

var<workgroup> keys: array<u32, WG_SIZE>;
var<workgroup> columns: array<u32, WG_SIZE>;

// An integer that orders as the number does; NaN is 0, and the zeros are equal.
fn key_of(bits: u32) -> u32 {
    let size = bits & 0x7fffffffu;
    if (size > 0x7f800000u) {
        return 0u;
    }
    if (bits == 0x80000000u) {
        return 0x80000000u;
    }
    return select(bits | 0x80000000u, ~bits, (bits & 0x80000000u) != 0u);
}

// The best of the workgroup, in place 0. All threads must call it.
fn reduce(lid: u32, key: u32, column: u32) {
    keys[lid] = key;
    columns[lid] = column;
    workgroupBarrier();
    for (var half = WG_SIZE / 2u; half > 0u; half = half / 2u) {
        if (lid < half) {
            let k = keys[lid + half];
            let c = columns[lid + half];
            if (k > keys[lid] || k == keys[lid] && c < columns[lid]) {
                keys[lid] = k;
                columns[lid] = c;
            }
        }
        workgroupBarrier();
    }
}

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
        if (k > key || k == key && c < column) {
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
        if (k > key || k == key && i < column) {
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
