// What a device computes at most: each thread runs sixteen chains of v = v * m + a, which no memory and no other thread holds up.
// A loop is 64 multiplications and additions in float32. The mean of the chains is stored, so that none can be left out.
#include "common_decls.tmpl"

struct BenchFMAParams {
    count: u32, // threads
    loops: u32,
    pad0: u32,
    pad1: u32,
}

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> dst: array<f32>;
@group(0) @binding(2) var<uniform> params: BenchFMAParams;

@compute @workgroup_size(256)
fn bench_fma(
    @builtin(workgroup_id) wg: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let i = folded_id(wg, num) * 256u + lid;
    if (i < params.count) {
        // m and a come from memory: a compiler that knew them could shorten the chains.
        let m = vec4<f32>(x[i]);
        let a = vec4<f32>(1.0) - m;
        var v0 = vec4<f32>(1.0, 2.0, 3.0, 4.0);
        var v1 = v0 + 4.0;
        var v2 = v0 + 8.0;
        var v3 = v0 + 12.0;
        for (var n = 0u; n < params.loops; n++) {
            v0 = fma(v0, m, a);
            v1 = fma(v1, m, a);
            v2 = fma(v2, m, a);
            v3 = fma(v3, m, a);
            v0 = fma(v0, m, a);
            v1 = fma(v1, m, a);
            v2 = fma(v2, m, a);
            v3 = fma(v3, m, a);
            v0 = fma(v0, m, a);
            v1 = fma(v1, m, a);
            v2 = fma(v2, m, a);
            v3 = fma(v3, m, a);
            v0 = fma(v0, m, a);
            v1 = fma(v1, m, a);
            v2 = fma(v2, m, a);
            v3 = fma(v3, m, a);
        }
        let sum = v0 + v1 + v2 + v3;
        dst[i] = (sum.x + sum.y + sum.z + sum.w) * 0.0625;
    }
}
