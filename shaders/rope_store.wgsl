// RoPE of queries and keys in place, and the store of keys and values into the cache: one workgroup for each row and head of
// queries, then of keys, then of values. See rope.wgsl and store_kv.wgsl for what each does.
#define WG_SIZE 64u
#include "common_decls.tmpl"
#include "rope_pair.tmpl"
#ifdef HALF
#include "half_bits.tmpl"
#define CACHE_WORD u32
#else
#define CACHE_WORD f32
#endif

struct RoPEStoreParams {
    rows: u32,
    n_head: u32,
    n_kv: u32,
    head_dim: u32,
    rot_dim: u32,
    q_off: u32,
    q_stride: u32,
    k_off: u32,
    k_stride: u32,
    v_off: u32,
    v_stride: u32,
    pos_off: u32,
    table_off: u32,
    kc_off: u32,
    kc_stride: u32,
    vc_off: u32,
    vc_stride: u32,
    pad0: u32,
    pad1: u32,
    pad2: u32,
}

@group(0) @binding(0) var<storage, read_write> q: array<f32>;
@group(0) @binding(1) var<storage, read_write> k: array<f32>;
@group(0) @binding(2) var<storage, read> v: array<f32>;
@group(0) @binding(3) var<storage, read> pos: array<u32>;
@group(0) @binding(4) var<storage, read> table: array<f32>;
@group(0) @binding(5) var<storage, read_write> kc: array<CACHE_WORD>;
@group(0) @binding(6) var<storage, read_write> vc: array<CACHE_WORD>;
@group(0) @binding(7) var<uniform> params: RoPEStoreParams;

#ifdef HALF
const WORD: u32 = 2u; // elements; a head has an even number

fn word(first: f32, second: f32) -> u32 {
    return half_bits(first) | (half_bits(second) << 16u);
}
#else
const WORD: u32 = 1u;
#endif

@compute @workgroup_size(WG_SIZE)
fn rope_store(
    @builtin(workgroup_id) wg: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let id = folded_id(wg, num);
    let heads = params.n_head + 2u * params.n_kv;
    let row = id / heads;
    if (row >= params.rows) {
        return;
    }
    let head = id % heads;
    let position = pos[params.pos_off + row];
    let angles = params.table_off + position * params.rot_dim;
    if (head < params.n_head) {
        let base = params.q_off + row * params.q_stride + head * params.head_dim;
        for (var j = lid; j < params.rot_dim / 2u; j = j + WG_SIZE) {
            let at = vec2<u32>(base) + pair(j);
            let t = turned(q[at.x], q[at.y], table[angles + 2u * j], table[angles + 2u * j + 1u]);
            q[at.x] = t.x;
            q[at.y] = t.y;
        }
        return;
    }
    let words = params.head_dim / WORD;
    if (head < params.n_head + params.n_kv) {
        let h = head - params.n_head;
        let base = params.k_off + row * params.k_stride + h * params.head_dim;
        for (var j = lid; j < params.rot_dim / 2u; j = j + WG_SIZE) {
            let at = vec2<u32>(base) + pair(j);
            let t = turned(k[at.x], k[at.y], table[angles + 2u * j], table[angles + 2u * j + 1u]);
            k[at.x] = t.x;
            k[at.y] = t.y;
        }
        storageBarrier();
        let to = params.kc_off + position * params.kc_stride + h * words;
        for (var i = lid; i < words; i = i + WG_SIZE) {
#ifdef HALF
            kc[to + i] = word(k[base + 2u * i], k[base + 2u * i + 1u]);
#else
            kc[to + i] = k[base + i];
#endif
        }
        return;
    }
    let h = head - params.n_head - params.n_kv;
    let base = params.v_off + row * params.v_stride + h * params.head_dim;
    let to = params.vc_off + position * params.vc_stride + h * words;
    for (var i = lid; i < words; i = i + WG_SIZE) {
#ifdef HALF
        vc[to + i] = word(v[base + 2u * i], v[base + 2u * i + 1u]);
#else
        vc[to + i] = v[base + i];
#endif
    }
}
