"""Time one step of decoding from a cache of latents, absorbed and expanded, by length and by new tokens.

    PYTHONPATH=.cache/peers python benchmarks/latent.py [--repeats 7] [--out FILE]

Writes benchmarks/results/latent-decoding.json: ratios of times measured side by side in the same rounds, and
what a step multiplies and reads, counted. The published layer takes part where its package is installed.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import torch

from attnbook import results
from attnbook.benchmark import compare, multiplications
from attnlab import MultiHeadAttention
from attnlab.cache import kv_cache_bytes
from attnlab.latent import LatentAttention

# The widths of DeepSeek-V2-Lite (its config.json); per head they are those of V2 and V3.
D_MODEL, HEADS, LATENT, D_HEAD, D_ROTARY = 2048, 16, 512, 128, 64
LENGTHS = (64, 256, 1024, 4096, 16_384)
"""Tokens in the cache when the next one comes."""
NEW, BEFORE = (1, 8, 32, 64, 128, 256, 512), 2048
"""Tokens that come at once, behind so many others."""
COUNTED = {
    "multi-head": {"n_kv_heads": 128, "d_head": 128},
    "grouped, 8": {"n_kv_heads": 8, "d_head": 128},
    "latent": {"n_kv_heads": 1, "d_head": 576, "d_v": 0},
}
"""What a layer of 128 query heads of width 128 keeps of a token; the latent is that of DeepSeek-V3."""


def main() -> None:
    """Count, measure, and store."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--repeats", type=int, default=7)
    arguments.add_argument("--out", type=Path, help="another file, for a trial")
    chosen = arguments.parse_args()
    torch.set_num_threads(1)
    results.begin(chosen.out)
    torch.manual_seed(0)
    torch.set_grad_enabled(False)
    layers, packages = {"latent": latent(), "multi-head": multi_head()}, []
    try:
        layers["published"] = published(layers["latent"])
        packages.append("transformers")
    except ImportError:
        print("left out: transformers is not installed")
    numbers = {
        "clock": "CPU time of the process",
        "shape": {
            "d_model": D_MODEL,
            "heads": HEADS,
            "d_latent": LATENT,
            "d_head": D_HEAD,
            "d_rotary": D_ROTARY,
        },
        "repeats": chosen.repeats,
        "before": BEFORE,
        "counted": counted(),
        "one token": {str(n): measured(layers, 1, n, chosen.repeats) for n in LENGTHS},
        "several tokens": {str(n): measured(layers, n, BEFORE, chosen.repeats, forms=True) for n in NEW},
    }
    results.store(
        "latent-decoding", numbers, command="python benchmarks/latent.py", packages=packages, path=chosen.out
    )


def counted() -> dict[str, dict[str, float]]:
    """Count, for each cached token and layer, what a step reads in 16 bits, and what it does with that."""
    found = {}
    for name, sizes in COUNTED.items():
        read = kv_cache_bytes(1, n=1, **sizes)
        key, value = (576, 512) if name == "latent" else (128, 128)
        operations = 2 * 128 * (key + value)  # a product and a sum for each number of key and value, a head
        found[name] = {
            "numbers": read // 2,
            "bytes": read,
            "operations": operations,
            "operations a byte": operations / read,
        }
    return found


def latent() -> LatentAttention:
    """Return the layer that is measured."""
    sizes = {"d_latent": LATENT, "d_head": D_HEAD, "d_rotary": D_ROTARY}
    return LatentAttention(D_MODEL, HEADS, **sizes).eval()


def multi_head() -> MultiHeadAttention:
    """Return multi-head attention of the same heads, which keeps keys and values of each."""
    return MultiHeadAttention(D_MODEL, HEADS, d_head=D_HEAD, bias=False, rotary=True).eval()


def published(ours: LatentAttention) -> tuple:
    """Return the published layer and its angles, with our weights."""
    import transformers
    from transformers.models.deepseek_v3 import modeling_deepseek_v3 as theirs

    config = transformers.DeepseekV3Config(
        hidden_size=D_MODEL,
        num_attention_heads=HEADS,
        num_key_value_heads=HEADS,
        kv_lora_rank=LATENT,
        q_lora_rank=None,
        qk_nope_head_dim=D_HEAD,
        qk_rope_head_dim=D_ROTARY,
        v_head_dim=D_HEAD,
    )
    config._attn_implementation = "sdpa"
    layer = theirs.DeepseekV3Attention(config, 0).eval()
    names = {
        "q_proj": "q_proj",
        "kv_down": "kv_a_proj_with_mqa",
        "kv_norm": "kv_a_layernorm",
        "kv_up": "kv_b_proj",
        "out_proj": "o_proj",
    }
    layer.load_state_dict({f"{names[k.split('.')[0]]}.weight": v for k, v in ours.state_dict().items()})
    return layer, theirs.DeepseekV3RotaryEmbedding(config), transformers.DynamicCache


def measured(layers: dict, n_new: int, before: int, repeats: int, *, forms: bool = False) -> dict:
    """Time what comes next behind `before` tokens, in every way that agrees on the result."""
    x, kept = torch.randn(1, n_new, D_MODEL), torch.randn(1, 1, before, LATENT + D_ROTARY)
    runs: dict[str, Callable] = {}
    for form in ("absorbed", "plain"):
        runs[form] = step(layers["latent"], (kept, kept[..., :0]), x, form=form)
    if not forms:
        runs["multi-head"] = step(layers["multi-head"], torch.randn(2, 1, HEADS, before, D_HEAD), x)
        if "published" in layers:
            runs["published"] = their_step(*layers["published"], kept, x)
    want = runs["plain"]()
    for name, run in runs.items():
        assert name == "multi-head" or torch.allclose(run(), want, atol=1e-4), name
    found = compare(runs, repeats=repeats, warmup=1, clock=time.process_time)
    row = found.summary("absorbed")
    row["ratios"] = {name: found.ratio(name, "absorbed") for name in runs if name != "absorbed"}
    row["multiplications"] = {form: multiplications(runs[form]) for form in ("absorbed", "plain")}
    print(n_new, before, {name: round(ratio, 2) for name, ratio in row["ratios"].items()}, flush=True)
    return row


def step(layer: LatentAttention | MultiHeadAttention, kept: tuple, x: torch.Tensor, **form) -> Callable:
    """Return a function that reads x behind what is kept of other tokens, and forgets it again."""
    n, cache = kept[0].shape[2], layer.new_cache(1, kept[0].shape[2] + x.shape[1])
    cache.append(*kept)

    def run() -> torch.Tensor:
        out = layer(x, cache=cache, **form)
        cache.truncate(n)
        return out

    return run


def their_step(layer, turn, cache_of, kept: torch.Tensor, x: torch.Tensor) -> Callable:
    """Return the same for the published layer, which moves the first of each pair to the front."""
    cache, n = cache_of(), kept.shape[2]
    turned = kept[..., LATENT:]
    cache.update(kept[..., :LATENT], torch.cat((turned[..., ::2], turned[..., 1::2]), -1), 0)
    at = turn(x, torch.arange(n, n + x.shape[1])[None])

    def run() -> torch.Tensor:
        out, _ = layer(x, at, None, past_key_values=cache)
        cache.crop(-x.shape[1])
        return out

    return run


if __name__ == "__main__":
    main()
