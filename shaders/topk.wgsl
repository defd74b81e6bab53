// The k largest elements of each row of x and their columns, in order, in two steps. First a workgroup finds the first of
// each group of SIZE columns. Then one workgroup a row takes the k groups whose firsts come first: what is in no such group
// comes after k others, and so does what comes after the last of these firsts. Of the others it counts how many come before.
#define WG_SIZE 256u
#define NAN_KEY 0xffffffffu
#define MAX_GROUPS 512u
#define MAX_K 64u
#include "common_decls.tmpl"
#include "largest.tmpl"

struct TopKParams {
    rows: u32,
    n: u32,
    k: u32,
    x_off: u32,
    x_stride: u32,
    at_off: u32,
    places: u32,
    values_off: u32,
    values_stride: u32,
    id_off: u32,
    id_stride: u32,
    groups: u32,
    size: u32,
    pad0: u32,
    pad1: u32,
    pad2: u32,
}

@group(0) @binding(0) var<storage, read> x: array<u32>;            // bits of f32, so that no compiler takes NaN for granted
@group(0) @binding(1) var<storage, read> at: array<u32>;
@group(0) @binding(2) var<storage, read_write> found: array<u32>;  // a row: key and column of the groups, then of the candidates
@group(0) @binding(3) var<storage, read_write> values: array<u32>;
@group(0) @binding(4) var<storage, read_write> ids: array<u32>;
@group(0) @binding(5) var<uniform> params: TopKParams;

#ifdef MERGE
var<workgroup> group_keys: array<u32, MAX_GROUPS>;
var<workgroup> group_columns: array<u32, MAX_GROUPS>;
var<workgroup> chosen: array<u32, MAX_K>;
var<workgroup> candidates: atomic<u32>;
#endif

@compute @workgroup_size(WG_SIZE)
fn topk(
    @builtin(workgroup_id) wg: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let id = folded_id(wg, num);
    let words = 2u * (params.groups + min(params.k, params.groups) * params.size); // of a row in found
#ifdef MERGE
    let row = id;
    if (row >= params.rows) {
        return;
    }
    let base = row * words;
    for (var g = lid; g < params.groups; g = g + WG_SIZE) {
        group_keys[g] = found[base + 2u * g];
        group_columns[g] = found[base + 2u * g + 1u];
    }
    workgroupBarrier();
    for (var g = lid; g < params.groups; g = g + WG_SIZE) {
        var rank = 0u;
        for (var o = 0u; o < params.groups; o = o + 1u) {
            rank = rank + u32(before(group_keys[o], group_columns[o], group_keys[g], group_columns[g]));
        }
        if (rank < params.k) {
            chosen[rank] = g;
        }
    }
    workgroupBarrier();
    var last_key = 0u;
    var last_column = 0xffffffffu;
    if (params.groups >= params.k) {
        last_key = group_keys[chosen[params.k - 1u]];
        last_column = group_columns[chosen[params.k - 1u]];
    }
    let list = base + 2u * params.groups;
    for (var c = 0u; c < min(params.k, params.groups); c = c + 1u) {
        let end = min((chosen[c] + 1u) * params.size, params.n);
        for (var i = chosen[c] * params.size + lid; i < end; i = i + WG_SIZE) {
            let key = key_of(x[params.x_off + row * params.x_stride + i]);
            if (!before(last_key, last_column, key, i)) {
                let slot = atomicAdd(&candidates, 1u);
                found[list + 2u * slot] = key;
                found[list + 2u * slot + 1u] = i;
            }
        }
    }
    storageBarrier();
    workgroupBarrier();
    let count = atomicLoad(&candidates);
    let place = at[params.at_off + row] % params.places;
    for (var c = lid; c < count; c = c + WG_SIZE) {
        let key = found[list + 2u * c];
        let column = found[list + 2u * c + 1u];
        var rank = 0u;
        for (var o = 0u; o < count; o = o + 1u) {
            rank = rank + u32(before(found[list + 2u * o], found[list + 2u * o + 1u], key, column));
        }
        if (rank < params.k) {
            values[params.values_off + place * params.values_stride + rank] = x[params.x_off + row * params.x_stride + column];
            ids[params.id_off + place * params.id_stride + rank] = column;
        }
    }
#else
    let row = id / params.groups;
    if (row >= params.rows) {
        return;
    }
    let group = id % params.groups;
    var key = 0u;
    var column = 0xffffffffu;
    for (var i = group * params.size + lid; i < min((group + 1u) * params.size, params.n); i = i + WG_SIZE) {
        let k = key_of(x[params.x_off + row * params.x_stride + i]);
        if (before(k, i, key, column)) {
            key = k;
            column = i;
        }
    }
    reduce(lid, key, column);
    if (lid == 0u) {
        found[row * words + 2u * group] = keys[0];
        found[row * words + 2u * group + 1u] = columns[0];
    }
#endif
}
