// dst[r, i] = half i of row r of src, two a word, the first in the low bits. BUILT_IN converts as the fast kernels do, which
// on some devices takes subnormal halves for zero.
#include "row_span.tmpl"
#include "half.tmpl"

struct UnpackHalfParams {
    rows: u32,
    n: u32,
    src_off: u32,
    src_stride: u32,
    dst_off: u32,
    dst_stride: u32,
    pad0: u32,
    pad1: u32,
}

@group(0) @binding(0) var<storage, read> src: array<u32>;
@group(0) @binding(1) var<storage, read_write> dst: array<f32>;
@group(0) @binding(2) var<uniform> params: UnpackHalfParams;

@compute @workgroup_size(WG_SIZE)
fn unpack_half(
    @builtin(workgroup_id) wg: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let at = row_and_element(wg, num, lid, params.n);
    if (at.x < params.rows && at.y < params.n) {
        let word = src[params.src_off + at.x * params.src_stride + at.y / 2u];
#ifdef BUILT_IN
        let v = unpack2x16float(word)[at.y & 1u];
#else
        let v = half_at(word, at.y & 1u);
#endif
        dst[params.dst_off + at.x * params.dst_stride + at.y] = v;
    }
}
