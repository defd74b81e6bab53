#!/usr/bin/env python3
"""Write a trace of a Hugging Face causal LM as the .npz that "cera-run diff" reads.

Captured: the embedding, the norms, the attention and MLP outputs, the residual stream (ffn_inp-N, l_out-N), the last
norm and the logits; float32, a row a token, by the site names of cera and llama.cpp. Models must have the module names
of Llama: model.embed_tokens, model.layers.N.{input_layernorm, self_attn, post_attention_layernorm, mlp}, model.norm,
lm_head. A model with norms behind attention or MLP is refused: its sites would have the wrong names.

    pip install torch transformers numpy
    python3 scripts/hf_trace.py MODEL --tokens 1,403,7 --out hf.npz
    cera-run dump model.gguf --tokens 1,403,7 --out cera.npz
    cera-run diff cera.npz hf.npz
"""

import argparse
import json
import os
import sys

SCHEMA = "cera-trace-1"


def fail(message):
    sys.exit("hf_trace.py: " + message)


def parse_args():
    p = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    p.add_argument("model", help="folder or name of the model")
    what = p.add_mutually_exclusive_group(required=True)
    what.add_argument("--tokens", help="token ids, as 1,2,3")
    what.add_argument("--prompt", help="text, for the model's tokenizer; the ids are printed")
    p.add_argument("--out", required=True, help="the .npz file to write")
    p.add_argument("--device", default="cpu", help="torch device (default cpu)")
    p.add_argument("--dtype", default="float32", choices=["float32", "bfloat16", "float16"],
                   help="type that the model computes in (default float32, the one to compare with)")
    args = p.parse_args()
    if args.tokens is not None:
        try:
            args.tokens = [int(field) for field in args.tokens.replace(",", " ").split()]
        except ValueError as err:
            p.error(f"--tokens: {err}")
        if not args.tokens or min(args.tokens) < 0:
            p.error("--tokens: expected at least one id, and none below 0")
    return args


class Capture:
    """Collects what modules give, in the order in which they run."""

    def __init__(self):
        self.sites = {}

    def keep(self, site, value):
        if isinstance(value, (tuple, list)):  # a layer's caches and attention weights come behind its output
            value = value[0]
        # [1, tokens, n] -> [tokens, n]
        self.sites[site] = value.detach().float().cpu().reshape(-1, value.shape[-1]).numpy().copy()

    def output(self, module, site):
        module.register_forward_hook(lambda _m, _args, out: self.keep(site, out))

    def input(self, module, site):
        module.register_forward_pre_hook(lambda _m, args, kwargs: self.keep(site, args[0] if args else kwargs["hidden_states"]),
                                         with_kwargs=True)


def attach(model):
    capture = Capture()
    try:
        body = model.model
        capture.output(body.embed_tokens, "embd")
        for i, layer in enumerate(body.layers):
            for name in ("pre_feedforward_layernorm", "post_feedforward_layernorm"):
                if hasattr(layer, name):
                    fail(f"model.layers.{i}.{name}: models with norms behind attention or MLP are not supported")
            capture.output(layer.input_layernorm, f"attn_norm-{i}")
            capture.output(layer.self_attn, f"attn_out-{i}")
            capture.input(layer.post_attention_layernorm, f"ffn_inp-{i}")
            capture.output(layer.post_attention_layernorm, f"ffn_norm-{i}")
            capture.output(layer.mlp, f"ffn_out-{i}")
            capture.output(layer, f"l_out-{i}")
        capture.output(body.norm, "result_norm")
        capture.output(model.lm_head, "result_output")
    except AttributeError as err:
        fail(f"the model's modules do not have Llama's names: {err}")
    return capture


def main():
    args = parse_args()
    try:
        import numpy
        import torch
        import transformers
    except ImportError as err:
        fail(f"{err}; pip install torch transformers numpy")

    tokens = args.tokens
    if tokens is None:
        tokens = transformers.AutoTokenizer.from_pretrained(args.model)(args.prompt)["input_ids"]
        print("tokens", ",".join(map(str, tokens)))
    # "eager" is the plain formula, without fused attention. The type's argument was renamed in 4.56.
    version = tuple(int(n) for n in transformers.__version__.split(".")[:2])
    dtype = {"dtype" if version >= (4, 56) else "torch_dtype": getattr(torch, args.dtype)}
    model = transformers.AutoModelForCausalLM.from_pretrained(args.model, attn_implementation="eager", **dtype)
    model = model.to(args.device).eval()
    vocab = model.get_input_embeddings().num_embeddings
    if max(tokens) >= vocab:
        fail(f"token {max(tokens)} is not in the vocabulary of {vocab}")
    capture = attach(model)
    with torch.no_grad():
        model(input_ids=torch.tensor([tokens], device=args.device), use_cache=False)

    for site, rows in capture.sites.items():
        if rows.shape[0] != len(tokens):
            fail(f"{site} has {rows.shape[0]} rows for {len(tokens)} tokens")
    manifest = {
        "schema": SCHEMA,
        "engine": "transformers",
        "version": f"{transformers.__version__}, torch {torch.__version__}, {args.dtype}",
        "model": args.model,
        "tokens": len(tokens),
        "device": args.device,
        "sites": list(capture.sites),
    }
    arrays = {
        "manifest": numpy.frombuffer(json.dumps(manifest).encode(), dtype=numpy.uint8),
        "tokens": numpy.array(tokens, dtype=numpy.int32),
        **capture.sites,
    }
    part = args.out + ".tmp"
    try:
        with open(part, "wb") as f:  # a file object, so that numpy appends no suffix
            numpy.savez(f, **arrays)
        os.replace(part, args.out)
    finally:
        if os.path.exists(part):
            os.remove(part)
    print(f"{args.out}: {len(capture.sites)} sites, {len(tokens)} tokens", file=sys.stderr)


if __name__ == "__main__":
    main()
