"""Learned selection against the layers of published models, whose numbers are stored.

`benchmarks/frontier_reference.py selected` stored them. Each layer is written here with our functions.
"""

from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import load_file

from attnlab.latent import LatentAttention
from attnlab.positions import RotaryPositions, rotary
from attnlab.selection import (
    Indexer,
    SelectedAttention,
    index_scores,
    keys_of_blocks,
    selected_attention,
    top_keys,
)

FOLDER = Path(__file__).parent / "frontier"
halves = RotaryPositions(layout="halves", width=4)


def split(x, w, name, width):
    return F.linear(x, w[f"{name}.weight"]).unflatten(-1, (-1, width))


def norm(x, weight):
    return F.rms_norm(x, x.shape[-1:], weight, eps=1e-6)


def joined(heads, w):
    return F.linear(heads.transpose(1, 2).flatten(-2), w["o_proj.weight"])


def indexer(w):
    choose = Indexer(16, 4, n_heads=3, width=8, d_query=12, rotary=halves)
    theirs = {"q_proj": "wq_b", "k_proj": "wk", "k_norm": "k_norm", "weights_proj": "weights_proj"}
    names = [(f"{our}.weight", f"indexer.{their}.weight") for our, their in theirs.items()]
    state = {our: w[their].detach() for our, their in names}
    choose.load_state_dict(state | {"k_norm.bias": w["indexer.k_norm.bias"].detach()})
    return choose


def deepseek_v32(x, w):
    """One indexer for all heads, of the same compressed query, in front of latent attention."""
    choose = indexer(w)
    asking = norm(F.linear(x, w["q_a_proj.weight"]), w["q_a_layernorm.weight"])
    places = choose(x, asking=asking, is_causal=True)

    q = split(asking, w, "q_b_proj", 8).transpose(1, 2)
    latent, near = F.linear(x, w["kv_a_proj_with_mqa.weight"]).split((8, 4), -1)
    kv = split(norm(latent, w["kv_a_layernorm.weight"]), w, "kv_b_proj", 10).transpose(1, 2)
    near = rotary(near)[:, None].expand(-1, 2, -1, -1)
    q, k = torch.cat((q[..., :4], rotary(q[..., 4:])), -1), torch.cat((kv[..., :4], near), -1)
    return joined(selected_attention(q, k, kv[..., 4:], places), w)


def qwen4_exp(x, w):
    """Blocks of two by the mean of their keys: the best that have ended, and the one that has not."""
    at, ended = torch.arange(x.shape[1]), x.shape[1] // 2
    q, k = F.linear(x, w["indexer.index_qk_proj.weight"]).split((18, 6), -1)
    q = norm(q.unflatten(-1, (3, 6)), 1 + w["indexer.q_layernorm.weight"]).transpose(1, 2)
    k = k[:, : 2 * ended].unflatten(1, (ended, 2)).mean(2)  # first the mean, then norm and turn
    k = norm(k, 1 + w["indexer.k_layernorm.weight"])
    q, k = halves(q, q)[0], halves(k, k, 2 * torch.arange(ended))[1]
    past = 2 * torch.arange(1, ended + 1) <= at[:, None] + 1
    chosen = top_keys(index_scores(q, k, scale=6**-0.5), 2, mask=past)
    own = (at // 2).masked_fill(at % 2 == 1, -1).expand(len(x), -1)
    places = keys_of_blocks(torch.cat((chosen, own[..., None]), -1), 2, len(at))

    q, gate = split(x, w, "q_proj", 16).chunk(2, -1)
    k, v = split(x, w, "k_proj", 8), split(x, w, "v_proj", 8).transpose(1, 2)
    q, k = (norm(x, 1 + w[f"{name}.weight"]).transpose(1, 2) for x, name in ((q, "q_norm"), (k, "k_norm")))
    out = selected_attention(*halves(q, k), v, places)
    return joined(out * gate.transpose(1, 2).sigmoid(), w)


def minimax_m3(x, w):
    """Blocks of two by their best key, for each key-value head; the query's own is always read."""
    at = torch.arange(x.shape[1])
    blocks = torch.arange((len(at) + 1) // 2)
    q = norm(split(x, w, "indexer.q_proj", 6), 1 + w["indexer.q_norm.weight"]).transpose(1, 2)
    k = norm(split(x, w, "indexer.k_proj", 6), 1 + w["indexer.k_norm.weight"]).transpose(1, 2)
    q, k = halves(q, k)
    scores = (q @ k.mT).masked_fill(at > at[:, None], -torch.inf)
    best = F.pad(scores, (0, 2 * len(blocks) - len(at)), value=-torch.inf).unflatten(-1, (-1, 2)).amax(-1)
    best = best.masked_fill(blocks == at[:, None] // 2, torch.inf)
    places = keys_of_blocks(top_keys(best, 3), 2, len(at))  # (batch, n_kv_heads, n, 6)

    q, k, v = (split(x, w, f"{name}_proj", 8) for name in "qkv")
    q, k = (norm(x, 1 + w[f"{name}.weight"]).transpose(1, 2) for x, name in ((q, "q_norm"), (k, "k_norm")))
    return joined(selected_attention(*halves(q, k), v.transpose(1, 2), places), w)


def alone(model, x, w):
    """Read both texts, the second without the three tokens of padding on its left."""
    second = model(x[1:, 3:], w)
    return torch.cat((model(x[:1], w), F.pad(second, (0, 0, 3, 0))))


@pytest.mark.parametrize("model", [deepseek_v32, qwen4_exp, minimax_m3], ids=lambda model: model.__name__)
def test_it_is_what_the_published_layer_computes(model):
    stored = load_file(FOLDER / f"{model.__name__}.safetensors")
    w = {name[2:]: x.requires_grad_() for name, x in stored.items() if name.startswith("w.")}
    x = stored["x"].requires_grad_()
    out = model(x, w) if model is minimax_m3 else alone(model, x, w)
    torch.testing.assert_close(out, stored["out"], rtol=1e-5, atol=1e-5)
    leaves = {"x": x} | {f"w.{name}": weight for name, weight in w.items()}
    got = torch.autograd.grad(
        out, list(leaves.values()), stored["g"], allow_unused=True, materialize_grads=True
    )
    for name, one in zip(leaves, got, strict=True):
        want = stored[f"d.{name}"]
        torch.testing.assert_close(one, want, rtol=0, atol=1e-5 * want.abs().max().item())


@torch.no_grad()
def test_the_indexer_before_latent_attention_is_the_published_layer_and_decodes_with_one_cache():
    stored = load_file(FOLDER / "deepseek_v32.safetensors")
    w = {name[2:]: x for name, x in stored.items() if name.startswith("w.")}
    config = {"hidden_size": 16, "num_attention_heads": 2, "kv_lora_rank": 8, "qk_nope_head_dim": 4}
    config |= {"qk_rope_head_dim": 4, "v_head_dim": 6, "q_lora_rank": 12}
    heads = {name: x for name, x in w.items() if not name.startswith("indexer.")}
    layer = SelectedAttention(LatentAttention.from_deepseek(heads, config), indexer(w))
    x, want = stored["x"], stored["out"]
    there = torch.arange(11) >= torch.tensor([[0], [3]])
    got = layer(x, is_causal=True, key_mask=there)
    torch.testing.assert_close(got * there[..., None], want, rtol=1e-5, atol=1e-5)
    cache, parts = layer.new_cache(2, 11), []
    for token in x.split((5, 1, 1, 4), 1):
        seen = there[:, : cache.length + token.shape[1]]
        parts.append(layer(token, cache=cache, key_mask=seen))
    torch.testing.assert_close(torch.cat(parts, 1), got, rtol=1e-5, atol=1e-5)
    assert cache.append(*(torch.zeros(2, *shape) for shape in ((1, 0, 12), (1, 0, 0), (0, 8))))[2].shape == (
        2,
        11,
        8,
    )
