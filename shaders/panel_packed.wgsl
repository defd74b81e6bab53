// Copies rows of a packed weight (gpu/pack.go), decoded, to panels: a thread a unit of four rows each. What is read lies apart, row
// by row, and a line of it is soon wanted by the neighbouring threads; what is written, up to eight times as much, lies
// together.
#define WG_SIZE 128u
#define WEIGHT w
#define SCALES scales
#include "common_decls.tmpl"
#include "packed_unit.tmpl"
#include "panel_params.tmpl"

@group(0) @binding(0) var<storage, read> w: array<QUANTS>;
@group(0) @binding(1) var<storage, read> scales: array<u32>;
@group(0) @binding(2) var<storage, read_write> dst: array<vec4<f32>>;
@group(0) @binding(3) var<uniform> params: PanelParams;

const DEEP: u32 = 128u / ACROSS; // units of a row that a workgroup copies

// Four j of a unit, zeros where there is no such row or element.
fn four_of(u: PackedUnit, j: u32, k: u32, r: u32) -> vec4<f32> {
    return select(vec4<f32>(), unit_four(u, j), k < params.k && r < params.rows);
}

@compute @workgroup_size(WG_SIZE)
fn panel_packed(
    @builtin(workgroup_id) wg: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let id = folded_id(wg, num);
    let first = first_unit(params.k0);
    let deeps = (units_within(params.k0 + params.depth) - first + DEEP - 1u) / DEEP;
    let p = id / deeps;
    if (p * WIDTH >= params.rows) {
        return;
    }
    let last = params.rows - 1u;
    for (var i = lid; i < ACROSS * DEEP; i = i + WG_SIZE) {
        let four = i % ACROSS;
        let r = p * WIDTH + 4u * four;
        let unit = first + id % deeps * DEEP + i / ACROSS;
        let a = row_unit(params.row0 + min(r, last), params.row_units, unit);
        let b = row_unit(params.row0 + min(r + 1u, last), params.row_units, unit);
        let c = row_unit(params.row0 + min(r + 2u, last), params.row_units, unit);
        let d = row_unit(params.row0 + min(r + 3u, last), params.row_units, unit);
        for (var j = 0u; j < UNIT_FOURS; j = j + 1u) {
            let k = unit_element(unit, j);
            put(p, four, k, four_of(a, j, k, r), four_of(b, j, k, r + 1u), four_of(c, j, k, r + 2u), four_of(d, j, k, r + 3u));
        }
    }
}
