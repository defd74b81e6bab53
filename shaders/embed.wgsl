// Row tokens[r] of a table of any format becomes row r of dst, one workgroup a row. The binding holds table rows
// row_lo..row_hi-1; rows whose token lies elsewhere are left alone.
#define WG_SIZE 256u
#define WEIGHT table
#define SCALES scales
#include "common_decls.tmpl"
#ifdef PACKED
#include "packed_unit.tmpl"
#else
#define QUANTS u32
#include "decode.tmpl"
#endif

struct EmbedParams {
    n: u32,
    rows: u32,
    tokens_off: u32,
    dst_off: u32,
    dst_stride: u32,
    row_lo: u32,
    row_hi: u32,
    row_units: u32,
}

@group(0) @binding(0) var<storage, read> table: array<QUANTS>;
#ifdef PACKED
@group(0) @binding(1) var<storage, read> scales: array<u32>;
@group(0) @binding(2) var<storage, read> tokens: array<u32>;
@group(0) @binding(3) var<storage, read_write> dst: array<f32>;
@group(0) @binding(4) var<uniform> params: EmbedParams;
#else
@group(0) @binding(1) var<storage, read> tokens: array<u32>;
@group(0) @binding(2) var<storage, read_write> dst: array<f32>;
@group(0) @binding(3) var<uniform> params: EmbedParams;
#endif

@compute @workgroup_size(WG_SIZE)
fn embed(
    @builtin(workgroup_id) wg: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let row = folded_id(wg, num);
    if (row >= params.rows) {
        return;
    }
    let token = tokens[params.tokens_off + row];
    if (token < params.row_lo || token >= params.row_hi) {
        return;
    }
    let out = params.dst_off + row * params.dst_stride;
#ifdef PACKED
    for (var i = lid; i < params.n; i = i + WG_SIZE) {
        dst[out + i] = weight4(token - params.row_lo, params.row_units, i / 4u)[i & 3u];
    }
#else
    let first = (token - params.row_lo) * params.n;
    for (var i = lid; i < params.n; i = i + WG_SIZE) {
        dst[out + i] = weight_at(first + i);
    }
#endif
}
