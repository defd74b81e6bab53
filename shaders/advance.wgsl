// Ends a step of decoding: history[pos] = id, token = id, pos = pos + 1.
struct AdvanceParams {
    token_off: u32,
    pos_off: u32,
    history_off: u32,
    positions: u32,
    id_off: u32,
    pad0: u32,
    pad1: u32,
    pad2: u32,
}

@group(0) @binding(0) var<storage, read_write> token: array<u32>;
@group(0) @binding(1) var<storage, read_write> pos: array<u32>;
@group(0) @binding(2) var<storage, read_write> history: array<u32>;
@group(0) @binding(3) var<storage, read> ids: array<u32>;
@group(0) @binding(4) var<uniform> params: AdvanceParams;

@compute @workgroup_size(1u)
fn advance() {
    let at = pos[params.pos_off];
    let id = ids[params.id_off];
    if (at < params.positions) {
        history[params.history_off + at] = id;
    }
    token[params.token_off] = id;
    pos[params.pos_off] = at + 1u;
}
