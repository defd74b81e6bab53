// dst[t, o] = sum over k of x[t, k] * w[o, k] for few rows of x, w packed (gpu/pack.go) or of whole elements. A workgroup
// of WG_SIZE threads makes ROWS outputs for each of up to TOKENS rows of x: LANES threads share out the units of a row
// (units.tmpl), and add up what they found.
//
// PARTS: w is several matrices one under the other, whose outputs go to two or three places. GATED: it is two, gate and
// up; act(gate) * up is written as well. EXPERTS: every row of x has a matrix of its own (expert_vec.tmpl).
#define WEIGHT w
#define SCALES scales
#include "common_decls.tmpl"
#include "units.tmpl"
#ifdef GATED
#include "activation.tmpl"
#endif

#ifdef EXPERTS
#include "expert_vec.tmpl"
#else
struct MatVecPackedParams {
    units: u32,
    m: u32,
    k4: u32,
    tokens: u32,
    x_off4: u32,
    x_stride4: u32,
    dst_off: u32,
    dst_stride: u32,
    first1: u32,
    dst1_off: u32,
    dst1_stride: u32,
    first2: u32,
    dst2_off: u32,
    dst2_stride: u32,
    row0: u32,
    pad: u32,
}

@group(0) @binding(0) var<storage, read> w: array<QUANTS>;
@group(0) @binding(1) var<storage, read> scales: array<SCALE_TYPE>;
@group(0) @binding(2) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> dst: array<f32>;
#if defined(PARTS) || defined(GATED)
@group(0) @binding(4) var<storage, read_write> dst1: array<f32>;
@group(0) @binding(5) var<storage, read_write> dst2: array<f32>;
@group(0) @binding(6) var<uniform> params: MatVecPackedParams;
#else
@group(0) @binding(4) var<uniform> params: MatVecPackedParams;
#endif

fn x_start() -> u32 {
    return params.x_off4;
}

// The weight row that makes output r of the workgroup's. Rows past the last are the last again.
fn weight_row(base: u32, r: u32) -> u32 {
#ifdef GATED
    return params.row0 + (r & 1u) * params.first1 + min(base + r / 2u, params.m - 1u);
#else
    return params.row0 + min(base + r, params.m - 1u);
#endif
}

fn write(t: u32, o: u32, value: f32) {
#ifdef PARTS
    if (o >= params.first2) {
        dst2[params.dst2_off + t * params.dst2_stride + o - params.first2] = value;
        return;
    }
    if (o >= params.first1) {
        dst1[params.dst1_off + t * params.dst1_stride + o - params.first1] = value;
        return;
    }
#endif
    dst[params.dst_off + t * params.dst_stride + o] = value;
}

#endif

const GROUPS: u32 = WG_SIZE / LANES; // of threads, with rows of their own
const OWN: u32 = ROWS / GROUPS;      // rows of a group
const OWN_SUMS: u32 = OWN * TOKENS;
const SUMS: u32 = ROWS * TOKENS;
const PARTIALS: u32 = SUMS * LANES;
const TEAM: u32 = 8u; // threads that add up one sum's partials, in two steps

var<workgroup> partial: array<f32, PARTIALS>;

#ifdef GATED
const OUTPUTS: u32 = ROWS / 2u; // pairs of gate and up
#else
const OUTPUTS: u32 = ROWS;
#endif

@compute @workgroup_size(WG_SIZE)
fn matvec_packed(
    @builtin(workgroup_id) wg: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let base = folded_id(wg, num) * OUTPUTS;
    if (base >= params.m) {
        return;
    }
#ifdef EXPERTS
    if (!find_slot(wg.z, base, OUTPUTS, lid)) {
        return;
    }
#endif
    let x0 = x_start();
    var sums: array<f32, OWN_SUMS>;
    let lane = lid % LANES;
    let own = lid / LANES * OWN; // first of the group's rows
#if defined(BLOCKS)
#ifdef BY_LEVEL
    fill_levels(lid);
    workgroupBarrier();
#endif
    for (var u0 = 0u; u0 < params.units; u0 = u0 + UNITS) {
        // Weights are on their way while x is staged.
        var loaded: array<Unit, LOADS>;
        for (var h = 0u; h < UNITS / LANES; h = h + 1u) {
            let u = min(u0 + h * LANES + lane, params.units - 1u); // past the last, x is zero
            for (var r = 0u; r < OWN; r = r + 1u) {
                loaded[h * OWN + r] = load_unit(weight_row(base, own + r) * params.units + u);
            }
        }
#ifdef ONE_TOKEN
        workgroupBarrier();
        stage(x0, u0, params.k4, lid);
        workgroupBarrier();
        for (var h = 0u; h < UNITS / LANES; h = h + 1u) {
            let xs = staged(h * LANES + lane);
            let total = sums_of(xs);
            for (var r = 0u; r < OWN; r = r + 1u) {
                sums[r] = sums[r] + dot_unit(loaded[h * OWN + r], xs, total);
            }
        }
#else
        var values: array<Values, OWN>;
        for (var r = 0u; r < OWN; r = r + 1u) {
            values[r] = unit_values(loaded[r]);
        }
        for (var t = 0u; t < TOKENS; t = t + 1u) {
            workgroupBarrier();
            // Rows past the last are the last again.
            stage(x0 + min(t, params.tokens - 1u) * params.x_stride4, u0, params.k4, lid);
            workgroupBarrier();
            let xs = staged(lane);
            for (var r = 0u; r < OWN; r = r + 1u) {
                sums[r * TOKENS + t] = sums[r * TOKENS + t] + dot_values(values[r], xs);
            }
        }
#endif
    }
#else
    for (var u = lid; u < params.units; u = u + WG_SIZE) {
#ifdef ONE_TOKEN
        let xs = with_sums(load_x(x0, u, params.k4));
        for (var r = 0u; r < OWN; r = r + 1u) {
            sums[r] = sums[r] + dot_unit(weight_row(base, r) * params.units + u, xs);
        }
#else
        for (var r = 0u; r < OWN; r = r + 1u) {
            let w = load_w(weight_row(base, r) * params.units + u, u);
            for (var t = 0u; t < TOKENS; t = t + 1u) {
                // Rows past the last are the last again.
                let at = x0 + min(t, params.tokens - 1u) * params.x_stride4;
                let xs = load_x(at, u, params.k4);
                sums[r * TOKENS + t] = sums[r * TOKENS + t] + dot_values(w, xs);
            }
        }
#endif
    }
#endif
    for (var i = 0u; i < OWN_SUMS; i = i + 1u) {
        partial[(own * TOKENS + i) * LANES + lane] = sums[i];
    }
    workgroupBarrier();
    // TEAM threads a sum, as far as there are threads, in rounds.
    for (var i = lid; i < SUMS * TEAM; i = i + WG_SIZE) {
        let first = i / TEAM * LANES + i % TEAM;
        var sum = 0.0;
        for (var j = 0u; j < LANES; j = j + TEAM) {
            sum = sum + partial[first + j];
        }
        // Within a team each thread reads and writes places of its own: i % TEAM + multiples of TEAM.
        partial[first] = sum;
    }
    workgroupBarrier();
    for (var i = lid; i < OUTPUTS * TOKENS; i = i + WG_SIZE) {
        let r = i / TOKENS;
        let t = i % TOKENS;
        let o = base + r;
        if (o >= params.m || t >= params.tokens) {
            continue;
        }
#ifdef GATED
        let g = total((2u * r) * TOKENS + t);
        let up = total((2u * r + 1u) * TOKENS + t);
        dst[params.dst_off + t * params.dst_stride + o] = g;
        dst1[params.dst1_off + t * params.dst1_stride + o] = up;
        dst2[params.dst2_off + t * params.dst2_stride + o] = act(g) * up;
#else
        write(t, o, total(i));
#endif
    }
}

fn total(i: u32) -> f32 {
    var sum = 0.0;
    for (var j = 0u; j < TEAM; j = j + 1u) {
        sum = sum + partial[i * LANES + j];
    }
    return sum;
}
