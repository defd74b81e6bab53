#!/usr/bin/env python3
"""Makes golden.safetensors and golden.json: a small model of train.py with random weights, tokens, and the logits that
PyTorch computes for them in float64.

    python3 testdata/golden.py
"""
import json, os, sys

import torch

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(here))
sys.dont_write_bytecode = True
import train

config = dict(vocab=288, ctx=64, dim=32, layers=2, heads=4, kv_heads=2, ff=48, eps=1e-5, rope_base=10000.0)
torch.manual_seed(1)
model = train.Model(config)
for p in model.parameters():
    # Large enough for attention to look at single tokens, so that a wrong rotation shows.
    torch.nn.init.normal_(p, mean=1.0 if p.dim() == 1 else 0.0, std=0.2 if p.dim() == 1 else 1.5 / p.shape[1] ** 0.5)
tokens = torch.randint(config["vocab"], (1, 20))
weights = {k: v.detach() for k, v in model.named_parameters()}
train.save(os.path.join(here, "golden.safetensors"), weights)
with torch.no_grad():
    logits = model.double()(tokens)[0]
with open(os.path.join(here, "golden.json"), "w") as f:
    json.dump(dict(config=config, tokens=tokens[0].tolist(), logits=[[round(v, 6) for v in row] for row in logits.tolist()]), f)
    f.write("\n")
