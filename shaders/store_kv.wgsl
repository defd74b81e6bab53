// Rows r of k and v become rows pos[r] of the caches, one workgroup a row.
#define WG_SIZE 256u
#include "common_decls.tmpl"

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
@group(0) @binding(3) var<storage, read_write> kc: array<f32>;
@group(0) @binding(4) var<storage, read_write> vc: array<f32>;
@group(0) @binding(5) var<uniform> params: StoreKVParams;

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
    for (var i = lid; i < params.n; i = i + WG_SIZE) {
        kc[params.kc_off + to * params.kc_stride + i] = k[params.k_off + row * params.k_stride + i];
        vc[params.vc_off + to * params.vc_stride + i] = v[params.v_off + row * params.v_stride + i];
    }
}
