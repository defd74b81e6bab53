#!/usr/bin/env python3
"""Trains the story model on what `make data` wrote. Needs Python 3.9 and PyTorch; numpy and safetensors are not used.

    python3 train.py --data DATA --out RUN

writes model.safetensors (tensors named as in GGUF), config.json, loss.csv and run.json to RUN; `make convert` turns
them into a GGUF file. The architecture is llama as GGUF files have it: RMSNorm, rotary embedding of neighbouring pairs,
grouped-query attention, SwiGLU, the embedding tied to the output.
"""
import argparse, contextlib, json, math, os, platform, struct, sys, time

import torch
import torch.nn as nn
import torch.nn.functional as F

BOS = 1


class Norm(nn.Module):
    def __init__(self, dim, eps):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(dim)), eps

    def forward(self, x):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.eps) * self.weight


def linear(n, rows):
    return nn.Linear(n, rows, bias=False)


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.heads, self.kv, self.hd = c["heads"], c["kv_heads"], c["dim"] // c["heads"]
        self.attn_norm = Norm(c["dim"], c["eps"])
        self.attn_q = linear(c["dim"], self.heads * self.hd)
        self.attn_k = linear(c["dim"], self.kv * self.hd)
        self.attn_v = linear(c["dim"], self.kv * self.hd)
        self.attn_output = linear(self.heads * self.hd, c["dim"])
        self.ffn_norm = Norm(c["dim"], c["eps"])
        self.ffn_gate = linear(c["dim"], c["ff"])
        self.ffn_up = linear(c["dim"], c["ff"])
        self.ffn_down = linear(c["ff"], c["dim"])

    def forward(self, x, cos, sin):
        x = x + self.attn_output(self.attend(self.attn_norm(x), cos, sin))
        h = self.ffn_norm(x)
        return x + self.ffn_down(F.silu(self.ffn_gate(h)) * self.ffn_up(h))

    def attend(self, h, cos, sin):
        b, t, _ = h.shape
        q = self.attn_q(h).view(b, t, self.heads, self.hd).transpose(1, 2)
        k = self.attn_k(h).view(b, t, self.kv, self.hd).transpose(1, 2)
        v = self.attn_v(h).view(b, t, self.kv, self.hd).transpose(1, 2)
        q, k = rotate(q, cos, sin).to(v.dtype), rotate(k, cos, sin).to(v.dtype)
        # Query head i reads key and value head i / (heads / kv).
        k, v = (z.repeat_interleave(self.heads // self.kv, dim=1) for z in (k, v))
        if hasattr(F, "scaled_dot_product_attention"):
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            mask = torch.ones(t, t, dtype=torch.bool, device=h.device).triu(1)
            scores = (q @ k.transpose(2, 3) / math.sqrt(self.hd)).masked_fill(mask, -math.inf)
            y = scores.float().softmax(-1).to(v.dtype) @ v
        return y.transpose(1, 2).reshape(b, t, self.heads * self.hd)


def rotate(x, cos, sin):
    """Turns the pairs (0, 1), (2, 3), ... of every head."""
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2)


class Model(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.token_embd = nn.Embedding(c["vocab"], c["dim"])
        self.blk = nn.ModuleList(Block(c) for _ in range(c["layers"]))
        self.output_norm = Norm(c["dim"], c["eps"])
        hd = c["dim"] // c["heads"]
        theta = c["rope_base"] ** (-torch.arange(0, hd, 2, dtype=torch.float64) / hd)
        angle = torch.arange(c["ctx"], dtype=torch.float64)[:, None] * theta
        self.register_buffer("cos", angle.cos().float(), persistent=False)
        self.register_buffer("sin", angle.sin().float(), persistent=False)
        for name, p in self.named_parameters():
            if p.dim() == 2:  # what adds to the stream starts smaller, so that the stream does not grow with depth
                deep = name.endswith(("attn_output.weight", "ffn_down.weight"))
                nn.init.normal_(p, std=0.02 / math.sqrt(2 * c["layers"]) if deep else 0.02)

    def forward(self, tokens):
        t = tokens.shape[1]
        x = self.token_embd(tokens)
        for b in self.blk:
            x = b(x, self.cos[:t], self.sin[:t])
        with torch.autocast(x.device.type, enabled=False):  # a logit of 16 bits is too coarse for the loss
            return F.linear(self.output_norm(x), self.token_embd.weight)


def load(path, device):
    """Token ids of a file, and where its stories begin."""
    with open(path, "rb") as f:
        raw = torch.frombuffer(bytearray(f.read()), dtype=torch.int16)
    ids = (raw.to(torch.int32) & 0xFFFF).to(device)
    return ids, (ids == BOS).nonzero()[:, 0]


def loss_of(model, x, y):
    return F.cross_entropy(model(x).flatten(0, 1), y.flatten(), ignore_index=-100)


def evaluate(model, ids, starts, ctx, amp):
    """Mean loss of the held-out stories, each read alone from <s> to </s>."""
    device, total, n = ids.device, 0.0, 0
    ends = torch.cat((starts[1:], torch.tensor([len(ids)], device=device)))
    offset = torch.arange(min(ctx + 1, int((ends - starts).max())), device=device)
    with torch.no_grad():
        for i in range(0, len(starts), 128):
            at = starts[i : i + 128, None] + offset
            inside = at < ends[i : i + 128, None]
            rows = ids[at.clamp(max=len(ids) - 1)].long()
            y = rows[:, 1:].masked_fill(~inside[:, 1:], -100)
            with amp:
                loss = loss_of(model, rows[:, :-1], y)
            count = int((y != -100).sum())
            total, n = total + loss.item() * count, n + count
    return total / n


def save(path, tensors):
    """Writes float32 tensors in the .safetensors format: the header's length, a JSON header, the data."""
    header, at = {}, 0
    for name, t in tensors.items():
        size = 4 * t.numel()
        header[name] = {"dtype": "F32", "shape": list(t.shape), "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for t in tensors.values():
            f.write(struct.pack(f"<{t.numel()}f", *t.flatten().tolist()))


def write_json(path, value):
    with open(path, "w") as f:
        json.dump(value, f, indent=2)
        f.write("\n")


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--data", required=True, help="folder that `make data` wrote")
    p.add_argument("--out", required=True, help="folder for the results")
    for name, value in dict(dim=128, layers=6, heads=4, kv_heads=2, ff=352, ctx=512, steps=12000, batch=128, warmup=300, seed=1, every=500).items():
        p.add_argument("--" + name.replace("_", "-"), type=int, default=value, help=f"default {value}")
    p.add_argument("--lr", type=float, default=2e-3, help="highest learning rate, default 0.002")
    p.add_argument("--minutes", type=float, default=8, help="the schedule ends by then, whatever the steps; default 8")
    p.add_argument("--fp32", action="store_true", help="no bf16")
    p.add_argument("--no-compile", action="store_true", help="no torch.compile")
    a = p.parse_args()
    os.makedirs(a.out, exist_ok=True)
    with open(os.path.join(a.data, "data.json")) as f:
        data = json.load(f)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(a.seed)
    c = dict(vocab=data["vocab"], ctx=a.ctx, dim=a.dim, layers=a.layers, heads=a.heads, kv_heads=a.kv_heads, ff=a.ff, eps=1e-5, rope_base=10000.0)
    model = Model(c).to(device)
    params = sum(q.numel() for q in model.parameters())
    amp = torch.autocast(device, dtype=torch.bfloat16, enabled=device == "cuda" and not a.fp32)
    ids, starts = load(os.path.join(a.data, "train.bin"), device)
    held = load(os.path.join(a.data, "heldout.bin"), device)
    starts = starts[starts < len(ids) - a.ctx]
    if len(starts) == 0:
        sys.exit(f"train.bin has {len(ids)} tokens, expected more than a context of {a.ctx}")

    matrices = [q for q in model.parameters() if q.dim() == 2]
    vectors = [q for q in model.parameters() if q.dim() != 2]
    opt = torch.optim.AdamW([{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}],
                            lr=a.lr, betas=(0.9, 0.95), **({"fused": True} if device == "cuda" else {}))
    fast = model
    if device == "cuda" and not a.no_compile:
        try:
            fast = torch.compile(model)
            with amp:  # compiles here, where a failure can still be caught
                loss_of(fast, *(torch.zeros(a.batch, a.ctx, dtype=torch.long, device=device),) * 2).backward()
        except Exception as e:
            print("torch.compile failed, going on without:", str(e).splitlines()[0], flush=True)
            fast = model
        opt.zero_grad(set_to_none=True)

    print(f"{params:,} parameters, {len(ids):,} tokens of {len(starts):,} stories, {device}", flush=True)
    offset = torch.arange(a.ctx + 1, device=device)
    mean, seen = torch.zeros((), device=device), 0
    curve = open(os.path.join(a.out, "loss.csv"), "w")
    curve.write("step,tokens,seconds,learning_rate,train_loss,held_out_loss\n")
    begin, step, progress = time.time(), 0, 0.0
    while progress < 1:
        step += 1
        progress = max(step / a.steps, (time.time() - begin) / (60 * a.minutes))
        lr = a.lr * min(step / a.warmup, 0.5 + 0.5 * math.cos(math.pi * min(progress, 1)))
        for g in opt.param_groups:
            g["lr"] = lr
        # A row begins with a story and goes on with those after it.
        first = starts[torch.randint(len(starts), (a.batch,), device=device)]
        rows = ids[first[:, None] + offset].long()
        with amp:
            loss = loss_of(fast, rows[:, :-1].contiguous(), rows[:, 1:].contiguous())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        opt.zero_grad(set_to_none=True)
        mean += loss.detach()
        seen += 1
        if step % a.every == 0 or progress >= 1:
            held_out = evaluate(model, *held, a.ctx, amp if progress < 1 else contextlib.nullcontext())
            train, seconds = (mean / seen).item(), time.time() - begin
            line = f"{step},{step * a.batch * a.ctx},{seconds:.1f},{lr:.6f},{train:.5f},{held_out:.5f}"
            curve.write(line + "\n")
            curve.flush()
            print(f"step {step}: train {train:.4f}, held out {held_out:.4f}, {seconds:.0f} s", flush=True)
            mean.zero_()
            seen = 0
    curve.close()
    save(os.path.join(a.out, "model.safetensors"), {k: v.detach().float().cpu() for k, v in model.named_parameters()})
    write_json(os.path.join(a.out, "config.json"), c)
    scored = data["held_out_tokens"] - data["held_out_stories"]  # every token but <s>
    words = torch.cuda.get_device_name() if device == "cuda" else platform.processor() or "cpu"
    write_json(os.path.join(a.out, "run.json"), dict(
        parameters=params, steps=step, tokens=step * a.batch * a.ctx, seconds=round(time.time() - begin, 1),
        held_out_loss=held_out, held_out_perplexity=math.exp(held_out),
        held_out_bits_per_byte=held_out * scored / data["held_out_bytes"] / math.log(2),
        device=words, torch=torch.__version__, seed=a.seed, batch=a.batch, learning_rate=a.lr, bf16=device == "cuda" and not a.fp32))


if __name__ == "__main__":
    main()
