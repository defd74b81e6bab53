// The slots in the order of their experts, each expert's in the order that they have, cut into tiles of TM slots at most:
//
//    order[0 .. slots-1]                  the slots
//    order[slots + 3*t .. slots + 3*t + 2]  tile t: its expert, where its slots begin in the order, how many they are
//
// Slots whose expert there is not come last, as those of one more expert. A workgroup does one expert. It looks at all slots: how many
// belong to an expert before its own says where its slots begin and, without a word from the other workgroups, which tiles
// are its own. An expert whose slots begin at f, with e experts before it, has the tiles from f/TM + e up to those of the next:
// enough for any number of slots, and in all slots/TM and one an expert. Those that it does not need are empty.
#define WG_SIZE 256u
#include "common_decls.tmpl"

struct ExpertSortParams {
    slots: u32,
    experts: u32,
    id_off: u32,
    pad0: u32,
}

@group(0) @binding(0) var<storage, read> ids: array<u32>;
@group(0) @binding(1) var<storage, read_write> order: array<u32>;
@group(0) @binding(2) var<uniform> params: ExpertSortParams;

var<workgroup> seen: array<vec2<u32>, WG_SIZE>; // slots of experts before this one, and of this one

fn expert_of(slot: u32) -> u32 {
    return min(ids[params.id_off + slot], params.experts);
}

@compute @workgroup_size(WG_SIZE)
fn expert_sort(
    @builtin(workgroup_id) wg: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let expert = folded_id(wg, num);
    if (expert > params.experts) {
        return;
    }
    // Each thread has a stretch of slots.
    let each = (params.slots + WG_SIZE - 1u) / WG_SIZE;
    let lo = min(lid * each, params.slots);
    let hi = min(lo + each, params.slots);
    var mine = vec2<u32>();
    for (var s = lo; s < hi; s = s + 1u) {
        let e = expert_of(s);
        mine = mine + vec2<u32>(u32(e < expert), u32(e == expert));
    }
    // Sums over the stretches up to this one.
    var sum = mine;
    seen[lid] = sum;
    workgroupBarrier();
    for (var back = 1u; back < WG_SIZE; back = back * 2u) {
        if (lid >= back) {
            sum = sum + seen[lid - back];
        }
        workgroupBarrier();
        seen[lid] = sum;
        workgroupBarrier();
    }
    let first = seen[WG_SIZE - 1u].x;
    let count = seen[WG_SIZE - 1u].y;

    var at = first + sum.y - mine.y;
    for (var s = lo; s < hi; s = s + 1u) {
        if (expert_of(s) == expert) {
            order[at] = s;
            at = at + 1u;
        }
    }
    let tile = first / TM + expert;
    let next = (first + count) / TM + expert + 1u;
    for (var t = tile + lid; t < next; t = t + WG_SIZE) {
        let skipped = min((t - tile) * TM, count);
        let to = params.slots + 3u * t;
        order[to] = expert;
        order[to + 1u] = first + skipped;
        order[to + 2u] = min(count - skipped, TM);
    }
}
