// What a device moves at most: src += residual, dst = src / 2, in fours. It reads and writes two buffers each and computes next
// to nothing, so that the time of a kernel over as many bytes can be told from that of its memory.
#include "common_decls.tmpl"

struct BenchPassParams {
    fours: u32,
    pad0: u32,
    pad1: u32,
    pad2: u32,
}

@group(0) @binding(0) var<storage, read_write> src: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> dst: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> residual: array<vec4<f32>>;
@group(0) @binding(3) var<uniform> params: BenchPassParams;

@compute @workgroup_size(256)
fn bench_pass(
    @builtin(workgroup_id) wg: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let i = folded_id(wg, num) * 256u + lid;
    if (i < params.fours) {
        let v = src[i] + residual[i];
        src[i] = v;
        dst[i] = v * 0.5;
    }
}
