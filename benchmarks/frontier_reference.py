"""Store what the transformers library computes with today's attentions, for ours to be compared with.

    PYTHONPATH=.cache/peers python benchmarks/frontier_reference.py [NAME ...]

It needs the transformers of benchmarks/requirements.txt. Each entry of `REFERENCES` builds published modules
with small random weights and writes tests/unit/frontier/FILE.safetensors for each: the weights (w.NAME), the
inputs and outputs under their own names, and for a gradient g of the output those of all inputs (d.NAME) and
weights (d.w.NAME).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path

import torch
import transformers
from safetensors.torch import save_file
from torch import Tensor, nn

FOLDER = Path(__file__).parents[1] / "tests/unit/frontier"
LARGEST = 60_000
"""Bytes that one file may have."""


def published(family: str, name: str) -> type:
    """Return a class of the library by the family of models it stands with, such as "gpt_oss"."""
    return getattr(import_module(f"transformers.models.{family}.modeling_{family}"), name)


def drawn(module: nn.Module, seed: int = 0) -> nn.Module:
    """Give a module random weights, of a size that leaves no softmax flat."""
    draw = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in module.parameters():
            weight.copy_(0.5 * torch.randn(weight.shape, generator=draw))
    return module.eval()


def answered(module: nn.Module, run: Callable[..., Tensor], **inputs: Tensor) -> dict[str, Tensor]:
    """Return a module's weights, its inputs, its output and all gradients for a random one of the output."""
    real = {name: x.requires_grad_() for name, x in inputs.items() if x.is_floating_point()}
    leaves = real | {f"w.{name}": weight for name, weight in module.named_parameters()}
    out = run(**inputs)
    g = torch.randn(out.shape, generator=torch.Generator().manual_seed(9)).to(out.dtype)
    got = torch.autograd.grad(out, list(leaves.values()), g, materialize_grads=True, allow_unused=True)
    gradients = {f"d.{name}": one for name, one in zip(leaves, got, strict=True)}
    return inputs | leaves | gradients | {"out": out, "g": g}


def angles(
    n: int, d: int, base: float = 10_000.0, dtype: torch.dtype = torch.float32
) -> tuple[Tensor, Tensor]:
    """Return cosines and sines (1, n, d) of rotary positions, both halves of a head alike."""
    turn = torch.arange(n, dtype=dtype)[:, None] * base ** (-torch.arange(0, d, 2, dtype=dtype) / d)
    turn = torch.cat((turn, turn), -1)[None]
    return turn.cos(), turn.sin()


def hidden_future(n: int) -> Tensor:
    """Return what the library adds to scores to hide later keys, (1, 1, n, n)."""
    return torch.full((n, n), torch.finfo(torch.float32).min).triu(1)[None, None]


# --- how scores are tamed, and what comes out --------------------------------------------------------------


def tamed() -> Iterator[tuple[str, dict[str, Tensor]]]:
    """Sinks, gates, norms of queries and keys, caps, temperatures, differences, attention over depth."""
    sizes = {"hidden_size": 16, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8}
    one = sizes | {"num_hidden_layers": 2, "attn_implementation": "eager"}
    full = {"layer_types": ["full_attention"] * 2}
    n, x = 6, torch.randn(2, 6, 16, generator=torch.Generator().manual_seed(1)).double()
    turn = angles(n, 8, dtype=torch.float64)
    seen = {"position_embeddings": turn, "attention_mask": hidden_future(n)}
    kept: dict = {"shared_kv_states": {}}
    half = {"position_embeddings": tuple(x[..., :4] for x in turn)}
    for family, name, config, settings, more in (
        ("gpt_oss", "GptOssAttention", "GptOssConfig", {}, half),
        ("qwen3", "Qwen3Attention", "Qwen3Config", {}, {}),
        ("qwen3_next", "Qwen3NextAttention", "Qwen3NextConfig", {}, {}),
        ("diffllama", "DiffLlamaAttention", "DiffLlamaConfig", {}, {}),
        ("gemma2", "Gemma2Attention", "Gemma2Config",
         full | {"query_pre_attn_scalar": 8, "attn_logit_softcapping": 2.0}, {}),
        ("gemma4", "Gemma4TextAttention", "Gemma4TextConfig",
         full | {"attention_k_eq_v": True, "num_global_key_value_heads": 2, "global_head_dim": 8,
                 "num_kv_shared_layers": 0}, kept),
    ):  # fmt: skip
        config = getattr(transformers, config)(**one, **settings)
        config._attn_implementation = "eager"
        layer = drawn(published(family, name)(config, 1)).double()
        options = seen | more
        yield family, answered(layer, lambda x, layer=layer, o=options: layer(x, **o)[0], x=x.clone())

    longer = drawn(published("mistral_large4", "MistralLarge4TextSoftmaxScaling")(4))
    q = torch.randn(2, 4, n, 8, generator=torch.Generator().manual_seed(2))
    at = torch.arange(n)[None] + torch.tensor([[0], [3]])
    yield "mistral_large4", answered(longer, lambda q, at: longer(q, at, True), q=q, at=at)

    config = transformers.Inkling2TextConfig(hidden_size=16)
    depth = drawn(published("inkling2", "Inkling2BlockAttentionResidual")(config))
    draw = torch.Generator().manual_seed(3)
    blocks, last = torch.randn(2, n, 3, 16, generator=draw), torch.randn(2, n, 16, generator=draw)
    yield "inkling2", answered(depth, lambda blocks, last: depth(blocks, last)[0], blocks=blocks, last=last)


# --- what is kept ------------------------------------------------------------------------------------------


def latent() -> Iterator[tuple[str, dict[str, Tensor]]]:
    """Latent attention, with its cache: queries compressed or not, pairs of neighbours or of halves."""
    sizes = {"hidden_size": 16, "num_attention_heads": 4, "num_key_value_heads": 4, "kv_lora_rank": 10}
    sizes |= {"qk_nope_head_dim": 6, "qk_rope_head_dim": 4, "v_head_dim": 5}
    n, x = 6, torch.randn(2, 6, 16, generator=torch.Generator().manual_seed(1))
    turn = angles(n, 4)
    for file, settings in {
        "deepseek_v3": {"q_lora_rank": 12, "attention_bias": True, "rope_interleave": True},
        "deepseek_v3_halves": {"q_lora_rank": None, "attention_bias": False, "rope_interleave": False},
    }.items():
        config = transformers.DeepseekV3Config(**sizes, **settings)
        config._attn_implementation = "eager"
        layer = drawn(published("deepseek_v3", "DeepseekV3Attention")(config, 0))
        whole = answered(layer, lambda x, layer=layer: layer(x, turn, hidden_future(n))[0], x=x.clone())
        cache, steps = transformers.DynamicCache(), []
        with torch.no_grad():
            for t, token in enumerate(x.split(1, 1)):
                at = tuple(part[:, t : t + 1] for part in turn)
                steps.append(layer(token, at, None, past_key_values=cache)[0])
        kept = cache.layers[0]
        yield file, whole | {"decoded": torch.cat(steps, 1), "latents": kept.keys, "rotary_keys": kept.values}


# --- who is looked at: learned selection -------------------------------------------------------------------


def selected() -> Iterator[tuple[str, dict[str, Tensor]]]:
    """Indexers of single tokens and of blocks, in the attention that they choose for."""
    n, x = 11, torch.randn(2, 11, 16, generator=torch.Generator().manual_seed(1))
    small = {"hidden_size": 16, "num_hidden_layers": 1, "attn_implementation": "eager"}
    shared = small | {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8}
    hidden = hidden_future(n).expand(2, 1, -1, -1).clone()
    hidden[1, :, :, :3] = torch.finfo(torch.float32).min  # the second text has padding on the left
    real = torch.arange(n)[:, None] >= torch.tensor([0, 3])[:, None, None]  # what it asks is not compared

    latent = {"q_lora_rank": 12, "kv_lora_rank": 8, "qk_nope_head_dim": 4, "qk_rope_head_dim": 4}
    config = transformers.DeepseekV32Config(
        **small, **latent, num_attention_heads=2, num_key_value_heads=2, v_head_dim=6,
        index_n_heads=3, index_head_dim=8, index_topk=4,
    )  # fmt: skip
    # Drawn so that no score of the last chosen key is that of another: which of several zeros `torch.topk`
    # takes is its own affair, and we take the earliest.
    layer = drawn(published("deepseek_v32", "DeepseekV32Attention")(config, 0), seed=4)
    run = partial(layer, position_embeddings=angles(n, 4), attention_mask=hidden)
    yield "deepseek_v32", answered(layer, lambda x: run(x)[0] * real, x=x.clone())

    turns = {"rope_type": "default", "rope_theta": 10_000.0, "partial_rotary_factor": 0.5}
    config = transformers.Qwen4ExpTextConfig(
        **shared, rope_parameters=turns, layer_types=["indexed_attention"], indexer_n_heads=3,
        indexer_kv_heads=1, indexer_head_dim=6, indexer_budget=4, indexer_compress_ratio=2,
    )  # fmt: skip
    config._attn_implementation = "eager"
    layer = drawn(published("qwen4_exp", "Qwen4ExpTextAttention")(config, 0))
    run = partial(layer, position_embeddings=[a.expand(2, -1, -1) for a in angles(n, 4)])
    yield (
        "qwen4_exp",
        answered(layer, lambda x: run(x, attention_mask=hidden, past_key_values=None)[0] * real, x=x.clone()),
    )

    config = transformers.MiniMaxM3VLTextConfig(
        **shared, rotary_dim=4, layer_types=["minimax_m3_sparse"], index_n_heads=2, index_head_dim=6,
        index_block_size=2, index_topk_blocks=3, index_local_blocks=1,
    )  # fmt: skip
    config._attn_implementation = "eager"
    layer = drawn(published("minimax_m3_vl", "MiniMaxM3VLAttention")(config, 0))
    run = partial(layer, position_embeddings=angles(n, 4), attention_mask=hidden_future(n))
    yield "minimax_m3", answered(layer, lambda x: run(x)[0], x=x.clone())


def kept() -> Iterator[tuple[str, dict[str, Tensor]]]:
    """Keys that are the values, in a window and pooled in blocks; keys and values that two layers share."""
    n, x = 11, torch.randn(2, 11, 16, generator=torch.Generator().manual_seed(1))
    config = transformers.DeepseekV4Config(
        hidden_size=16,
        num_attention_heads=4,
        head_dim=8,
        qk_rope_head_dim=4,
        partial_rotary_factor=0.5,
        q_lora_rank=12,
        o_groups=2,
        o_lora_rank=5,
        sliding_window=4,
        layer_types=["sliding_attention", "heavily_compressed_attention"],
        num_hidden_layers=2,
        compress_rates={"compressed_sparse_attention": 2, "heavily_compressed_attention": 3},
    )
    config._attn_implementation = "eager"
    window = torch.ones(n, n, dtype=torch.bool).tril().triu(-3)
    hidden = torch.zeros(2, 1, n, n).masked_fill(~window, -torch.inf)
    turns = {"main": 10_000.0, "compress": 160_000.0}
    turns = {name: tuple(part[..., :2] for part in angles(n, 4, base)) for name, base in turns.items()}
    at = torch.arange(n).expand(2, -1)
    for index, file in enumerate(("deepseek_v4_window", "deepseek_v4_pooled")):
        layer = drawn(published("deepseek_v4", "DeepseekV4Attention")(config, index))
        yield file, answered(layer, lambda x, layer=layer: layer(x, turns, at, hidden)[0], x=x.clone())

    config = transformers.Gemma4TextConfig(
        hidden_size=16,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=8,
        global_head_dim=8,
        layer_types=["full_attention"] * 2,
        num_hidden_layers=2,
        num_kv_shared_layers=1,
    )
    config._attn_implementation = "eager"
    two = nn.ModuleList(drawn(published("gemma4", "Gemma4TextAttention")(config, i), i) for i in range(2))

    def both(x: Tensor, y: Tensor) -> Tensor:
        seen = {
            "position_embeddings": angles(n, 8),
            "attention_mask": hidden_future(n),
            "shared_kv_states": {},
        }
        return torch.stack([layer(z, **seen)[0] for layer, z in zip(two, (x, y), strict=True)])

    y = torch.randn(2, n, 16, generator=torch.Generator().manual_seed(2))
    yield "gemma4_shared", answered(two, both, x=x.clone(), y=y)


# --- the other road ----------------------------------------------------------------------------------------


def road() -> Iterator[tuple[str, dict[str, Tensor]]]:
    """Gated delta rules and a state-space layer, on two texts of which one is padded on the left."""
    delta = {"linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 6}
    delta |= {"linear_value_head_dim": 5}
    x = torch.randn(2, 68, 8, generator=torch.Generator().manual_seed(1))  # beyond the first chunk of 64
    seen = torch.arange(68) >= torch.tensor([[0], [7]])
    for file, family, name, config, settings in (
        ("qwen3_next_delta", "qwen3_next", "Qwen3NextGatedDeltaNet", "Qwen3NextConfig", delta),
        ("olmo_hybrid", "olmo_hybrid", "OlmoHybridGatedDeltaNet", "OlmoHybridConfig",
         delta | {"linear_num_key_heads": 4}),
        ("kimi_linear", "kimi_linear", "KimiLinearDeltaAttention", "KimiLinearConfig",
         {"linear_num_heads": 2, "linear_head_dim": 6}),
        ("mamba2", "mamba2", "Mamba2Mixer", "Mamba2Config",
         {"num_heads": 4, "head_dim": 4, "state_size": 5, "n_groups": 2, "chunk_size": 16}),
    ):  # fmt: skip
        config = getattr(transformers, config)(hidden_size=8, num_hidden_layers=4, **settings)
        layer = drawn(published(family, name)(config, 0))
        with torch.no_grad():  # long memories; and sums of large decays would lose digits in single precision
            next(w for name, w in layer.named_parameters() if name.endswith("A_log")).sub_(4.0)
        run = lambda x, seen, layer=layer: layer(x, attention_mask=seen)  # noqa: E731
        yield file, answered(layer, run, x=x.clone(), seen=seen)


REFERENCES: dict[str, Callable[[], Iterable[tuple[str, dict[str, Tensor]]]]] = {
    "kept": kept,
    "latent": latent,
    "selected": selected,
    "tamed": tamed,
    "road": road,
}


def main() -> None:
    """Store the references that are named, or all."""
    FOLDER.mkdir(exist_ok=True)
    torch.set_num_threads(1)
    for name in sys.argv[1:] or REFERENCES:
        for file, tensors in REFERENCES[name]():
            path = FOLDER / f"{file}.safetensors"
            card = {"made by": f"benchmarks/frontier_reference.py {name}", "torch": torch.__version__}
            card["transformers"] = transformers.__version__
            save_file({key: x.detach().clone().contiguous() for key, x in tensors.items()}, path, card)
            assert path.stat().st_size <= LARGEST, f"{path} has {path.stat().st_size:,} bytes"
            print(path.name, f"{path.stat().st_size:,} bytes", flush=True)


if __name__ == "__main__":
    main()
