// Rows r of k and v become rows pos[r] of the caches, one workgroup a row. With HALF a word of the cache holds two elements
// as halves, the first in the low bits; beside the last of an odd number stands zero.
#define WG_SIZE 256u
#include "common_decls.tmpl"
#ifdef HALF
#include "half_bits.tmpl"
#define CACHE_WORD u32
#else
#define CACHE_WORD f32
#endif

struct StoreKVParams {
    rows: u32,
    n: u32,
    k_off: u32,
    k_stride: u32,
    v_off: u32,
    v_stride: u32,
    pos_off: u32,
    kc_off: u32,
    kc_stride: u32,
    vc_off: u32,
    vc_stride: u32,
    pad: u32,
}

@group(0) @binding(0) var<storage, read> k: array<f32>;
@group(0) @binding(1) var<storage, read> v: array<f32>;
@group(0) @binding(2) var<storage, read> pos: array<u32>;
@group(0) @binding(3) var<storage, read_write> kc: array<CACHE_WORD>;
@group(0) @binding(4) var<storage, read_write> vc: array<CACHE_WORD>;
@group(0) @binding(5) var<uniform> params: StoreKVParams;

#ifdef HALF
fn k_word(row: u32, i: u32) -> u32 {
    let at = params.k_off + row * params.k_stride + 2u * i;
    let first = half_bits(k[at]);
    if (2u * i + 1u < params.n) {
        return first | (half_bits(k[at + 1u]) << 16u);
    }
    return first;
}

fn v_word(row: u32, i: u32) -> u32 {
    let at = params.v_off + row * params.v_stride + 2u * i;
    let first = half_bits(v[at]);
    if (2u * i + 1u < params.n) {
        return first | (half_bits(v[at + 1u]) << 16u);
    }
    return first;
}

const WORD: u32 = 2u; // elements
#else
fn k_word(row: u32, i: u32) -> f32 {
    return k[params.k_off + row * params.k_stride + i];
}

fn v_word(row: u32, i: u32) -> f32 {
    return v[params.v_off + row * params.v_stride + i];
}

const WORD: u32 = 1u;
#endif

@compute @workgroup_size(WG_SIZE)
fn store_kv(
    @builtin(workgroup_id) wg: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let row = folded_id(wg, num);
    if (row >= params.rows) {
        return;
    }
    let to = pos[params.pos_off + row];
    for (var i = lid; i * WORD < params.n; i = i + WG_SIZE) {
        kc[params.kc_off + to * params.kc_stride + i] = k_word(row, i);
        vc[params.vc_off + to * params.vc_stride + i] = v_word(row, i);
    }
}
