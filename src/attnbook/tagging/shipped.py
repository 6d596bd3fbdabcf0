"""The small tagger that ships with the package: two attention layers, hashed features, 4- and 8-bit weights.

It is trained on the English Web Treebank by `benchmarks/ship_tagger.py`; the page runs the very same file.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from torch import Tensor, nn

from attnbook.tagging.words import bucket, features, split
from attnlab.multihead import MultiHeadAttention

FILE = Path(__file__).with_name("data") / "tagger.safetensors"


class HashedTagger(nn.Module):
    """Sum a few rows of one small table for each word, let the words attend to one another, read off the tag.

    Args:
        n_buckets: rows of the table. Features share rows; two hash functions a feature make it unlikely that
            two features share both.
        d_model: width.
        n_heads: heads of each attention layer, with rotary positions.
        n_layers: number of layers.
        d_ff: width of the network after each attention.
        n_tags: number of tags.

    >>> HashedTagger(8, 4, 2, 1, 8, 17)(torch.zeros(1, 3, 18, dtype=torch.long)).shape
    torch.Size([1, 3, 17])
    """

    def __init__(
        self, n_buckets: int, d_model: int, n_heads: int, n_layers: int, d_ff: int, n_tags: int
    ) -> None:
        super().__init__()
        self.table = nn.Embedding(n_buckets, d_model)
        self.layers = nn.ModuleList(
            nn.ModuleDict(
                {
                    "norm": nn.LayerNorm(d_model),
                    "attention": MultiHeadAttention(d_model, n_heads, rotary=True),
                    "norm2": nn.LayerNorm(d_model),
                    "up": nn.Linear(d_model, d_ff),
                    "down": nn.Linear(d_ff, d_model),
                }
            )
            for _ in range(n_layers)
        )
        self.norm = nn.LayerNorm(d_model)
        self.out = nn.Linear(d_model, n_tags)

    def forward(
        self,
        ids: Tensor,
        *,
        keep: Tensor | None = None,
        key_mask: Tensor | None = None,
        head_weights: Tensor | None = None,
        need_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Score every tag for every word.

        Args:
            ids: rows of the table (batch, n, k).
            keep: factors on them (batch, n, k), for training with dropped features.
            key_mask: boolean (batch, n) or (batch, 1, n), True = a real word.
            head_weights: (layers, heads) factor on the output of each head; 0 removes one.
            need_weights: return the attention weights (batch, layers, heads, n, n) as well.

        Returns:
            Scores (batch, n, tags), with `need_weights` also the weights.
        """
        rows = self.table(ids)  # (batch, n, k, d_model)
        x = (rows if keep is None else rows * keep[..., None]).sum(-2)  # (batch, n, d_model)
        seen = []
        for at, layer in enumerate(self.layers):
            factors = None if head_weights is None else head_weights[at]
            options = {"key_mask": key_mask, "head_weights": factors}
            if need_weights:
                mixed, weights = layer["attention"](layer["norm"](x), **options, need_weights=True)
                seen.append(weights)
            else:
                mixed = layer["attention"](layer["norm"](x), **options)
            x = x + mixed
            x = x + layer["down"](layer["up"](layer["norm2"](x)).relu())
        scores = self.out(self.norm(x))
        return (scores, torch.stack(seen, 1)) if need_weights else scores


@dataclass(frozen=True)
class Tagged:
    """A tagged sentence, and what the tagger looked at."""

    tokens: tuple[str, ...]
    tags: tuple[str, ...]
    probabilities: Tensor
    """Of each token and tag, (n, 17), in the order of `ShippedTagger.tags`."""
    weights: Tensor
    """How much of token j went into token i, (layers, heads, n, n)."""


class ShippedTagger:
    """The tagger as it is shipped: the model, its tags, and where it comes from.

    Args:
        file: a file that `benchmarks/ship_tagger.py` wrote.
    """

    def __init__(self, file: Path) -> None:
        with safe_open(str(file), framework="pt") as stored:
            self.card: dict[str, Any] = json.loads(stored.metadata()["card"])
            tensors = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118
        self.tags: tuple[str, ...] = tuple(self.card["tags"])
        form = self.card["form"]
        self.seeds: list[int] = form["seeds"]
        sizes = {key: form[key] for key in ("n_buckets", "d_model", "n_heads", "n_layers", "d_ff")}
        self.model = HashedTagger(**sizes, n_tags=len(self.tags))
        self.model.load_state_dict(dequantize(tensors))
        self.model.eval()

    def __repr__(self) -> str:
        return f"<ShippedTagger: {len(self.tags)} tags, trained on {self.card['data']}>"

    def ids(self, tokens: Sequence[str]) -> Tensor:
        """Hash the features of tokens to rows of the table.

        Args:
            tokens: n tokens.

        Returns:
            Row numbers (n, 9 features times the number of hash functions).
        """
        n_buckets = self.card["form"]["n_buckets"]
        rows = [[bucket(f, seed, n_buckets) for f in features(t) for seed in self.seeds] for t in tokens]
        return torch.tensor(rows, dtype=torch.long).reshape(len(tokens), -1)

    @torch.no_grad()
    def tag(
        self,
        sentence: str | Sequence[str],
        *,
        head_weights: Tensor | None = None,
        hidden: Sequence[int] = (),
    ) -> Tagged:
        """Tag a sentence of any length.

        Args:
            sentence: text, which is cut into tokens first, or a sequence of tokens.
            head_weights: (layers, heads) factor on the output of each head; 0 removes one.
            hidden: tokens, from 0, at which no token may look; they keep their places and get tags.

        Returns:
            Tokens, tags, probabilities and attention weights; all empty for an empty sentence.

        Raises:
            TypeError: the sentence is neither text nor a sequence of strings.
            ValueError: head_weights has another shape, or there is no token to hide.

        >>> load().tag("I saw a saw").tags
        ('PRON', 'VERB', 'DET', 'NOUN')
        >>> load().tag("I saw a saw", hidden=[2]).tags
        ('PRON', 'VERB', 'DET', 'PROPN')
        """
        tokens = split(sentence) if isinstance(sentence, str) else sentence
        if not isinstance(tokens, Sequence) or not all(isinstance(token, str) for token in tokens):
            raise TypeError(f"sentence must be a str or a sequence of str, got {sentence!r}")
        form = self.card["form"]
        shape = (form["n_layers"], form["n_heads"])
        if head_weights is not None and head_weights.shape != shape:
            raise ValueError(f"head_weights must have shape {shape}, got {tuple(head_weights.shape)}")
        if any(not 0 <= at < len(tokens) for at in hidden):
            raise ValueError(f"hidden must be tokens from 0 to {len(tokens) - 1}, got {list(hidden)}")
        if not tokens:
            weights = torch.zeros(*shape, 0, 0)
            return Tagged((), (), torch.zeros(0, len(self.tags)), weights)
        key_mask = torch.ones(1, len(tokens), dtype=torch.bool)  # (1, n)
        key_mask[0, list(hidden)] = False
        scores, weights = self.model(
            self.ids(tokens)[None],
            head_weights=head_weights,
            key_mask=key_mask if hidden else None,
            need_weights=True,
        )
        probabilities = scores[0].softmax(-1)  # (n, tags)
        tags = tuple(self.tags[at] for at in probabilities.argmax(-1).tolist())
        return Tagged(tuple(tokens), tags, probabilities, weights[0])


@cache
def load() -> ShippedTagger:
    """Load the tagger that ships with the package.

    Returns:
        The tagger; the same object every time.

    References:
        Silveira et al. 2014 (the data); Su et al. 2021 (its positions).

    >>> load().card["licence"]
    'CC BY-SA 4.0'
    """
    return ShippedTagger(FILE)


def quantize(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Pack a model's weights: the table in 4 bits with a scale a column, matrices in 8 with a scale a row.

    Args:
        state: the model's `state_dict`.

    Returns:
        Tensors for safetensors: "name.q" whole numbers, "name.scale"; vectors stay as they are.

    >>> packed = quantize({"table.weight": torch.ones(3, 2)})
    >>> packed["table.weight.q"].shape, dequantize(packed)["table.weight"].tolist()
    (torch.Size([3, 1]), [[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]])
    """
    packed = {}
    for name, weight in state.items():
        if weight.dim() == 1:
            packed[name] = weight.float().contiguous()
            continue
        scale = scale_of(name, weight)
        whole = (weight / scale).round().clamp(-limit(name), limit(name)).to(torch.int8)
        if name.startswith("table."):
            low, high = (whole + 8).to(torch.uint8).chunk(2, -1)  # columns j and j + d/2 share a byte
            whole = low | high << 4
        packed[f"{name}.q"], packed[f"{name}.scale"] = whole.contiguous(), scale.flatten().contiguous()
    return packed


def dequantize(packed: dict[str, Tensor]) -> dict[str, Tensor]:
    """Undo `quantize`, up to the rounding that it did.

    Args:
        packed: what `quantize` returned.

    Returns:
        A `state_dict`.
    """
    state = {}
    for name, stored in packed.items():
        if name.endswith(".q"):
            scale = packed[name[:-2] + ".scale"]
            if stored.dtype == torch.uint8:
                stored = torch.cat((stored & 15, stored >> 4), -1).float() - 8
                state[name[:-2]] = stored * scale
            else:
                state[name[:-2]] = stored.float() * scale[:, None]
        elif not name.endswith(".scale"):
            state[name] = stored
    return state


def scale_of(name: str, weight: Tensor) -> Tensor:
    """Return the step between two neighbouring weights, a column for the table and a row for matrices.

    Args:
        name: the weight's name; the table's starts with "table.".
        weight: (rows, columns).

    Returns:
        (1, columns) or (rows, 1).

    >>> scale_of("out.weight", torch.tensor([[127.0, 1.0]])).tolist()
    [[1.0]]
    """
    if name.startswith("table."):
        # Few weights lie far out: cutting them off at three deviations leaves finer steps for the rest.
        reach = torch.minimum(
            weight.abs().amax(0, keepdim=True), 3 * weight.square().mean(0, keepdim=True).sqrt()
        )
    else:
        reach = weight.abs().amax(1, keepdim=True)
    return (reach / limit(name)).clamp_min(1e-8)


def limit(name: str) -> int:
    """Return the largest whole number a weight is stored as: 7 in the table, 127 elsewhere.

    >>> limit("table.weight"), limit("out.weight")
    (7, 127)
    """
    return 7 if name.startswith("table.") else 127
