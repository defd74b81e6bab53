// x[s, i] += bias[ids[s], i], in place. A row whose expert there is not stays as it is.
#include "row_span.tmpl"

struct ExpertBiasParams {
    slots: u32,
    n: u32,
    experts: u32,
    x_off: u32,
    x_stride: u32,
    bias_off: u32,
    bias_stride: u32,
    id_off: u32,
}

@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@group(0) @binding(1) var<storage, read> bias: array<f32>;
@group(0) @binding(2) var<storage, read> ids: array<u32>;
@group(0) @binding(3) var<uniform> params: ExpertBiasParams;

@compute @workgroup_size(WG_SIZE)
fn expert_bias(
    @builtin(workgroup_id) wg: vec3<u32>,
    @builtin(num_workgroups) num: vec3<u32>,
    @builtin(local_invocation_index) lid: u32,
) {
    let at = row_and_element(wg, num, lid, params.n);
    if (at.x >= params.slots || at.y >= params.n) {
        return;
    }
    let expert = ids[params.id_off + at.x];
    if (expert < params.experts) {
        let to = params.x_off + at.x * params.x_stride + at.y;
        x[to] = x[to] + bias[params.bias_off + expert * params.bias_stride + at.y];
    }
}
