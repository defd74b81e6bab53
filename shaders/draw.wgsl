// Takes one of the first elements of a list by chance: the softmax of values / temperature, among the first that top-p and
// min-p leave. Every thread has one element; the sums are run through by one thread, in order.
#define WG_SIZE 64u

struct DrawParams {
    k: u32,
    places: u32,
    values_off: u32,
    values_stride: u32,
    id_off: u32,
    id_stride: u32,
    u_off: u32,
    draws: u32,
    at_off: u32,
    p_off: u32,
    chosen_off: u32,
    pad0: u32,
}

@group(0) @binding(0) var<storage, read> values: array<f32>;
@group(0) @binding(1) var<storage, read> ids: array<u32>;
@group(0) @binding(2) var<storage, read> u: array<f32>;
@group(0) @binding(3) var<storage, read> at: array<u32>;
@group(0) @binding(4) var<storage, read> p: array<f32>;  // temperature, top-k, top-p, min-p
@group(0) @binding(5) var<storage, read_write> chosen: array<u32>;
@group(0) @binding(6) var<uniform> params: DrawParams;

var<workgroup> plain: array<f32, WG_SIZE>; // odds at a temperature of 1, which top-p and min-p go by
var<workgroup> odds: array<f32, WG_SIZE>;

@compute @workgroup_size(WG_SIZE)
fn draw(@builtin(local_invocation_index) lid: u32) {
    let step = at[params.at_off];
    let place = step % params.places;
    let first = params.values_off + place * params.values_stride;
    var n = clamp(u32(p[params.p_off + 1u]), 1u, params.k);
    if (lid < n) {
        let below = values[first + lid] - values[first];
        plain[lid] = exp(below);
        odds[lid] = exp(below / p[params.p_off]);
    }
    workgroupBarrier();
    if (lid > 0u) {
        return;
    }
    let top_p = p[params.p_off + 2u];
    if (top_p > 0.0) {
        var all = 0.0;
        for (var i = 0u; i < n; i = i + 1u) {
            all = all + plain[i];
        }
        var sum = 0.0;
        for (var i = 0u; i < n; i = i + 1u) {
            sum = sum + plain[i];
            if (sum >= top_p * all) {
                n = i + 1u;
            }
        }
    }
    let min_p = p[params.p_off + 3u];
    while (n > 1u && plain[n - 1u] < min_p) {
        n = n - 1u;
    }
    var all = 0.0;
    for (var i = 0u; i < n; i = i + 1u) {
        all = all + odds[i];
    }
    let limit = u[params.u_off + step % params.draws] * all;
    var picked = 0u;
    var sum = odds[0];
    while (picked + 1u < n && !(sum > limit)) {
        picked = picked + 1u;
        sum = sum + odds[picked];
    }
    chosen[params.chosen_off] = ids[params.id_off + place * params.id_stride + picked];
}
