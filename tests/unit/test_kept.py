"""Other ways to keep less, in a few lines of what the library has: each is the published layer."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from attnlab import KVCache, grouped_attention, masks
from attnlab.cache import kv_cache_bytes, visible_pairs
from attnlab.positions import rotary

STORED = Path(__file__).parent / "frontier"
"""What benchmarks/frontier_reference.py wrote."""
BASES = {"deepseek_v4_window": 10_000.0, "deepseek_v4_pooled": 160_000.0}


def rms(x, weight=1.0):
    return x / (x.square().mean(-1, keepdim=True) + 1e-6).sqrt() * weight


def heads_of(x, d):
    return x.unflatten(-1, (-1, d)).transpose(1, 2)


def turned_tail(x, at, base):
    """Turn the last four numbers of each vector (..., n, d)."""
    return torch.cat((x[..., :-4], rotary(x[..., -4:], at, base=base)), -1)


def pooled(x, w, size, base):
    """Make one key of each whole block: a mean of its tokens, number by number, weighted by a softmax."""
    whole = x[:, : x.shape[1] // size * size]
    c, gate = (
        (whole @ w[f"compressor.{name}_proj.weight"].T).unflatten(1, (-1, size)) for name in ("kv", "gate")
    )
    c = ((gate + w["compressor.position_bias"]).softmax(2) * c).sum(2)  # (batch, blocks, d)
    c = rms(c, w["compressor.kv_norm.weight"])[:, None]
    return turned_tail(c, size * torch.arange(c.shape[2]), base)


def wide_head(x, w, file):
    """Let every head read one vector a token that is key and value at once."""
    base, at = BASES[file], torch.arange(x.shape[1])
    asks = rms(x @ w["q_a_proj.weight"].T, w["q_a_norm.weight"])
    q = turned_tail(rms(heads_of(asks @ w["q_b_proj.weight"].T, 8)), at, base)
    kv = turned_tail(rms(x @ w["kv_proj.weight"].T, w["kv_norm.weight"])[:, None], at, base)
    seen = masks.window(len(at), 3, 0)
    if file == "deepseek_v4_pooled":
        blocks = pooled(x, w, 3, base)
        closed = at[:, None] + 1 >= 3 * torch.arange(
            1, blocks.shape[2] + 1
        )  # a block is seen once it is full
        kv, seen = torch.cat((kv, blocks), 2), torch.cat((seen, closed), 1)
    heads = grouped_attention(q, kv, kv, mask=seen, sinks=w["sinks"])
    heads = turned_tail(heads, -at, base)  # the value was turned for its place: back, by the query's own
    groups = heads.transpose(1, 2).flatten(2).unflatten(-1, (2, -1))
    mixed = torch.einsum("bngi,goi->bngo", groups, w["o_a_proj.weight"].unflatten(0, (2, -1)))
    return mixed.flatten(2) @ w["o_b_proj.weight"].T


def shared(x, y, w, file, cache=None):
    """Let a second layer ask the keys and values of the first, which alone are kept."""
    before = 0 if cache is None else cache.length
    at = before + torch.arange(x.shape[1])

    def asked(x, layer, name, weight=1.0):
        return rms(heads_of(x @ w[f"{layer}.{name}_proj.weight"].T, 8), weight)

    k = rotary(asked(x, 0, "k", w["0.k_norm.weight"]), at, layout="halves")
    v = asked(x, 0, "v")
    if cache is not None:
        k, v = cache.append(k, v)  # once, for both
    outs = []
    for layer, tokens in enumerate((x, y)):
        q = rotary(asked(tokens, layer, "q", w[f"{layer}.q_norm.weight"]), at, layout="halves")
        mask, causal = visible_pairs((*q.shape[:3], k.shape[2]), cache, is_causal=True)
        heads = grouped_attention(q, k, v, mask=mask, is_causal=causal, scale=1.0)
        outs.append(heads.transpose(1, 2).flatten(2) @ w[f"{layer}.o_proj.weight"].T)
    return torch.stack(outs)


@pytest.mark.parametrize("file", [*BASES, "gemma4_shared"])
def test_outputs_and_gradients_are_those_of_the_published_layer(file):
    want = load_file(STORED / f"{file}.safetensors")
    leaves = {name: x.requires_grad_() for name, x in want.items() if name[:2] == "w." or name in ("x", "y")}
    w = {name[2:]: x for name, x in leaves.items()}
    out = shared(want["x"], want["y"], w, file) if "y" in want else wide_head(want["x"], w, file)
    torch.testing.assert_close(out, want["out"], rtol=1e-5, atol=1e-5)
    got = torch.autograd.grad(out, list(leaves.values()), want["g"])
    for name, gradient in zip(leaves, got, strict=True):
        there = want[f"d.{name}"]
        torch.testing.assert_close(gradient, there, rtol=1e-5, atol=1e-5 * max(1.0, there.abs().max().item()))


@pytest.mark.parametrize("parts", [(11,), (4, 1, 6), (1,) * 11])
@torch.no_grad()
def test_two_layers_decode_from_one_cache(parts):
    want = load_file(STORED / "gemma4_shared.safetensors")
    w = {name[2:]: x for name, x in want.items() if name[:2] == "w."}
    cache = KVCache(2, 2, 11, 8)
    pairs = zip(want["x"].split(parts, 1), want["y"].split(parts, 1), strict=True)
    got = torch.cat([shared(x, y, w, "gemma4_shared", cache) for x, y in pairs], 2)
    torch.testing.assert_close(got, want["out"], rtol=1e-5, atol=1e-5)
    assert cache.length == 11
    held = cache._keys.nbytes + cache._values.nbytes
    assert held == kv_cache_bytes(1, 2, 8, 11, batch=2, bytes_per_number=4)  # of one layer


def test_bytes_of_a_model_whose_layers_differ():
    # The default DeepSeek-V4: 43 layers with a window of 128 tokens; blocks of 128 tokens in 23 of them, of 4
    # in 20, which also keep a key of width 128 a block for their indexer.
    n, width = 2**20, {"n_kv_heads": 1, "d_head": 512, "d_v": 0}
    windows = kv_cache_bytes(43, n=128, **width)
    blocks = kv_cache_bytes(23, n=n // 128, **width) + kv_cache_bytes(20, n=n // 4, **width)
    indexed = kv_cache_bytes(20, n_kv_heads=1, d_head=128, d_v=0, n=n // 4)
    assert windows == 43 * 512 * 128 * 2
    assert blocks == 512 * 2 * (23 * 8192 + 20 * 262_144)
    assert (windows + blocks + indexed) // n == 6589  # bytes a token, at a million of them
    assert kv_cache_bytes(61, n=1, n_kv_heads=1, d_head=576, d_v=0) == 70_272  # DeepSeek-V3, at any length
