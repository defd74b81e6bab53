// Root-mean-square norm of a batch of rows, one workgroup a row:
//
//   rmsnorm_batch:      dst[i] = src[i] * inv_rms(src) * w[i]
//   add_rmsnorm_batch:  src[i] += residual[i], written back, then the same
//
// where inv_rms(v) = 1 / sqrt(sum(v²)/n + eps). Dispatch (rows, 1, 1), folded over x and y past 65,535 rows; a
// workgroup past the last row that fits the buffers does nothing.
#define WG_SIZE 256u
#include "inv_rms.tmpl"

@group(0) @binding(0) var<storage, read_write> src: array<f32>;
@group(0) @binding(1) var<storage, read_write> dst: array<f32>;
@group(0) @binding(2) var<storage, read> w: array<f32>;
// n, bits of eps, src stride, dst stride; strides in elements
@group(0) @binding(3) var<storage, read> params: vec4<u32>;
@group(0) @binding(4) var<storage, read> residual: array<f32>; // stride of src

// Whether a row lies inside a buffer of len elements, without overflow for any row and stride.
fn fits(row: u32, stride: u32, len: u32) -> bool {
    let n = params.x;
    return n <= len && row <= (len - n) / max(stride, 1u);
}

fn row_value(row: u32, i: u32) -> f32 {
    return src[row * params.z + i];
}

// Writes dst from the row of src; squares is this thread's share of the sum of squares.
fn write_normed(row: u32, lid: u32, squares: f32) {
    let n = params.x;
    let factors = inv_rms(row, n, bitcast<f32>(params.y), lid, squares);
    let out = row * params.w;
    for (var i = lid; i < n; i = i + WG_SIZE) {
        dst[out + i] = row_value(row, i) * factors.x * factors.y * w[i];
    }
}

@compute @workgroup_size(WG_SIZE)
fn rmsnorm_batch(
    @builtin(workgroup_id) wg: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let row = folded_id(wg, num);
    if (!fits(row, params.z, arrayLength(&src)) || !fits(row, params.w, arrayLength(&dst))) {
        return;
    }
    var squares = 0.0;
    for (var i = lid; i < params.x; i = i + WG_SIZE) {
        let v = row_value(row, i);
        squares = squares + v * v;
    }
    write_normed(row, lid, squares);
}

@compute @workgroup_size(WG_SIZE)
fn add_rmsnorm_batch(
    @builtin(workgroup_id) wg: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let row = folded_id(wg, num);
    if (!fits(row, params.z, arrayLength(&src)) || !fits(row, params.z, arrayLength(&residual))
        || !fits(row, params.w, arrayLength(&dst))) {
        return;
    }
    let base = row * params.z;
    var squares = 0.0;
    for (var i = lid; i < params.x; i = i + WG_SIZE) {
        let v = src[base + i] + residual[base + i];
        src[base + i] = v; // only this thread reads it again
        squares = squares + v * v;
    }
    write_normed(row, lid, squares);
}
