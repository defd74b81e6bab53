// Root-mean-square norm of a batch of rows, one workgroup a row:
//
//   rmsnorm_batch:      dst[i] = src[i] * inv_rms(src) * w[i]
//   add_rmsnorm_batch:  src[i] += residual[i], written back, then the same
//
// where inv_rms(v) = 1 / sqrt(sum(v²)/n + eps). Dispatch (rows, 1, 1), folded over x and y past 65,535 rows; a
// workgroup past the last row that fits the buffers does nothing. held_row.tmpl says which defines make it faster.
#define WG_SIZE 256u
#include "held_row.tmpl"

@group(0) @binding(0) var<storage, read_write> src: array<ELEMENT>;
@group(0) @binding(1) var<storage, read_write> dst: array<ELEMENT>;
@group(0) @binding(2) var<storage, read> w: array<ELEMENT>;
// n, bits of eps, src stride, dst stride; in floats
@group(0) @binding(3) var<storage, read> params: vec4<u32>;
@group(0) @binding(4) var<storage, read> residual: array<ELEMENT>; // stride of src

fn row_count() -> u32 { return params.x / LANES; }
fn src_stride() -> u32 { return params.z / LANES; }
fn dst_stride() -> u32 { return params.w / LANES; }

// Whether a row lies inside a buffer of len elements. A product that is below 2^31 in f32 is below 2^32, and no binding
// holds 2^30 floats.
fn fits(row: u32, stride: u32, len: u32) -> bool {
    let n = row_count();
    return n <= len && f32(row) * f32(stride) < 0x1p+31 && row * stride + n <= len;
}

fn row_value(row: u32, i: u32) -> ELEMENT {
    return src[row * src_stride() + i];
}

#ifdef HELD
// Reads this thread's share of a row of src.
fn read_src(row: u32, lid: u32) -> Held {
    var v: Held;
    for (var k = 0u; k < HELD; k = k + 1u) {
        let i = lid + k * WG_SIZE;
        if (in_row(k, i)) {
            v[k] = row_value(row, i);
        }
    }
    return v;
}

// Writes dst from a row, of which v is this thread's share.
fn write_normed(row: u32, lid: u32, v: ptr<function, Held>) {
    var gain: Held; // asked for before the barriers, so that it is there after them
    for (var k = 0u; k < HELD; k = k + 1u) {
        let i = lid + k * WG_SIZE;
        if (in_row(k, i)) {
            gain[k] = w[i];
        }
    }
    let factors = inv_rms(row, params.x, bitcast<f32>(params.y), lid, held_squares(v));
    let out = row * dst_stride();
    for (var k = 0u; k < HELD; k = k + 1u) {
        let i = lid + k * WG_SIZE;
        if (in_row(k, i)) {
            dst[out + i] = (*v)[k] * factors.x * factors.y * gain[k];
        }
    }
}
#else
// Writes dst from the row of src; squares is this thread's share of the sum of squares.
fn write_normed(row: u32, lid: u32, squares: ELEMENT) {
    let factors = inv_rms(row, params.x, bitcast<f32>(params.y), lid, squares);
    let out = row * dst_stride();
    for (var i = lid; i < row_count(); i = i + WG_SIZE) {
        dst[out + i] = row_value(row, i) * factors.x * factors.y * w[i];
    }
}
#endif

@compute @workgroup_size(WG_SIZE)
fn rmsnorm_batch(
    @builtin(workgroup_id) wg: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let row = folded_id(wg, num);
    if (!fits(row, src_stride(), arrayLength(&src)) || !fits(row, dst_stride(), arrayLength(&dst))) {
        return;
    }
#ifdef HELD
    var v = read_src(row, lid);
    write_normed(row, lid, &v);
#else
    var squares = ELEMENT();
    for (var i = lid; i < row_count(); i = i + WG_SIZE) {
        let v = row_value(row, i);
        squares = squares + v * v;
    }
    write_normed(row, lid, squares);
#endif
}

@compute @workgroup_size(WG_SIZE)
fn add_rmsnorm_batch(
    @builtin(workgroup_id) wg: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let row = folded_id(wg, num);
    if (!fits(row, src_stride(), arrayLength(&src)) || !fits(row, src_stride(), arrayLength(&residual))
        || !fits(row, dst_stride(), arrayLength(&dst))) {
        return;
    }
    let base = row * src_stride();
#ifdef HELD
    // All reads come before the first write, so that they are under way together.
    var v = read_src(row, lid);
    for (var k = 0u; k < HELD; k = k + 1u) {
        let i = lid + k * WG_SIZE;
        if (in_row(k, i)) {
            v[k] = v[k] + residual[base + i];
        }
    }
    for (var k = 0u; k < HELD; k = k + 1u) {
        let i = lid + k * WG_SIZE;
        if (in_row(k, i)) {
            src[base + i] = v[k];
        }
    }
    write_normed(row, lid, &v);
#else
    var squares = ELEMENT();
    for (var i = lid; i < row_count(); i = i + WG_SIZE) {
        let v = src[base + i] + residual[base + i];
        src[base + i] = v; // only this thread reads it again
        squares = squares + v * v;
    }
    write_normed(row, lid, squares);
#endif
}
