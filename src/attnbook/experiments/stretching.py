"""Read longer texts than in training: rotary positions stretched after the fact, and why they must be.

The task needs distance: a text is one block of words, over and over, and the model says the next word. Two
causal layers can do it: one notes at each place what stands before it, the other finds, a block ago, the
place that noted the present word, and says the word there. The first needs the distance 1 exactly; the
second must reach a block back, farther in a longer text.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from statistics import fmean
from typing import Literal, get_args

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnbook.experiments.runs import Run
from attnlab.masks import window
from attnlab.multihead import MultiHeadAttention

Way = Literal[
    "as it is",
    "interpolation",
    "larger base",
    "larger base, chosen",
    "slow pairs",
    "by parts",
    "by parts, sharper",
]
TRAINED = 32
"""Words in a text of training."""
FACTOR = 4
"""Texts become so many times as long."""
BASE = 100.0
"""To 32 words what 10,000 is to 4,096 tokens: a round of the slowest pair takes some 15 texts."""
KEPT_FROM, KEPT_FROMS = 5.0, (2.0, 3.0, 4.0, 5.0, 6.0)
"""By parts, pairs that turn so often in a text of training keep their speed; and what `choose` tries."""
LARGER, LARGERS = 64.0, (4.0, 8.0, 16.0, 32.0, 64.0, 128.0)
"""A larger base, chosen, divides the slowest pair by this, not by the factor; and what `choose` tries."""
WORDS, D_MODEL, N_HEADS = 128, 64, 2
BATCH, EVERY = 32, 20
STEPS = 400


def stretched(
    way: Way,
    d: int,
    *,
    base: float = BASE,
    trained: int = TRAINED,
    factor: float = FACTOR,
    kept_from: float = KEPT_FROM,
    larger: float = LARGER,
) -> tuple[Tensor, float]:
    """Return the speeds of the pairs for longer texts, and what queries and keys are multiplied by.

    Args:
        way: "as it is"; "interpolation", every speed divided by the factor; "larger base", chosen so that the
            slowest pair is divided by the factor and the fastest by 1; "larger base, chosen", so that it is
            divided by `larger`; "slow pairs", those that do not turn once in the trained length divided by
            the factor, all others left; "by parts", pairs that turn once at most divided, those of
            `kept_from` turns left, a straight line between; and the same with scores made larger, as YaRN
            does.
        d: width of a head.
        base: that of the training.
        trained: tokens in the longest text of training.
        factor: how many times as long texts become.
        kept_from: by parts, the turns from which a pair is left alone.
        larger: by what the chosen base divides the slowest pair.

    Returns:
        Speeds (d/2,), in radians a token, in float64; and the factor on queries and keys.

    Raises:
        ValueError: the way is unknown.

    References:
        Chen et al. 2023, section 2.3 (interpolation); Peng et al. 2024, sections 3.1 (base), 3.2 (by parts)
        and 3.4 (sharper).

    >>> [round(s, 3) for s in stretched("by parts", 8)[0].tolist()]
    [1.0, 0.115, 0.025, 0.008]
    """
    if way not in get_args(Way):
        raise ValueError(f"way must be {', '.join(get_args(Way))}; got {way!r}")
    entry = torch.arange(0, d, 2, dtype=torch.float64)
    speeds = base ** (-entry / d)
    if way == "interpolation":
        return speeds / factor, 1.0
    if way.startswith("larger base"):
        slowest = larger if way.endswith("chosen") else factor
        return (base * slowest ** (d / (d - 2))) ** (-entry / d), 1.0
    if way == "as it is":
        return speeds, 1.0
    turns = trained * speeds / (2 * math.pi)
    if way == "slow pairs":
        return torch.where(turns >= 1, speeds, speeds / factor), 1.0
    keep = ((turns - 1) / (kept_from - 1)).clamp(0, 1)
    return keep * speeds + (1 - keep) * speeds / factor, (
        0.1 * math.log(factor) + 1 if way == "by parts, sharper" else 1.0
    )


class Turn:
    """Rotary positions at any speeds, for `MultiHeadAttention(rotary=)`.

    Args:
        speeds: (d/2,), in radians a token.
        gain: factor on queries and keys.
    """

    def __init__(self, speeds: Tensor, gain: float = 1.0) -> None:
        self.speeds, self.gain = speeds, gain

    def __call__(self, q: Tensor, k: Tensor, positions: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Turn queries and keys (..., n, d), neighbours paired."""
        at = torch.arange(q.shape[-2]) if positions is None else positions
        angle = at[:, None] * self.speeds  # (n, d/2)
        cos, sin = (self.gain * angle.cos()).to(q.dtype), (self.gain * angle.sin()).to(q.dtype)

        def turned(x: Tensor) -> Tensor:
            a, b = x[..., 0::2], x[..., 1::2]
            return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2)

        return turned(q), turned(k)


class Repeater(nn.Module):
    """Two causal layers of rotary attention, and nothing else, that say the next word."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.out = nn.Embedding(WORDS, D_MODEL), nn.Linear(D_MODEL, WORDS)
        nn.init.normal_(self.words.weight, std=0.3)
        self.layers = nn.ModuleList(MultiHeadAttention(D_MODEL, N_HEADS) for _ in range(2))
        self.norms = nn.ModuleList(nn.LayerNorm(D_MODEL) for _ in range(3))
        self.stretch("as it is")

    def stretch(self, way: Way, **chosen: float) -> Repeater:
        """Change the speeds, and no weight; `chosen` as in `stretched`."""
        turn = Turn(*stretched(way, D_MODEL // N_HEADS, **chosen))
        for layer in self.layers:
            layer.rotary = turn
        return self

    def forward(self, ids: Tensor, *, within: int | None = None, cut: int | None = None) -> Tensor:
        """Score every word as the next.

        Args:
            ids: words (batch, n).
            within: hide keys that are farther away than this.
            cut: let every key that is farther away than this seem to stand exactly so far.

        Returns:
            Scores (batch, n, 128).
        """
        x = self.words(ids)  # (batch, n, d_model)
        mask = None if within is None else window(ids.shape[1], within, 0)
        for layer, norm in zip(self.layers, self.norms, strict=False):
            seen = norm(x)
            x = x + (layer(seen, is_causal=True, mask=mask) if cut is None else attend_cut(layer, seen, cut))
        return self.out(self.norms[-1](x))


def attend_cut(layer: MultiHeadAttention, x: Tensor, cut: int) -> Tensor:
    """Attend causally with rotary positions, as if no key stood farther away than `cut`.

    Args:
        layer: with as many heads of keys as of queries.
        x: tokens (batch, n, d_model).
        cut: every key that is farther away seems to stand exactly so far.

    Returns:
        Outputs (batch, n, d_model).
    """
    n = x.shape[1]
    q, k, v = (
        project(x).unflatten(-1, (layer.n_heads, -1)).transpose(1, 2)  # (batch, heads, n, d_head)
        for project in (layer.q_proj, layer.k_proj, layer.v_proj)
    )
    near_q, near_k = layer.rotary(q, k)
    far_q, _ = layer.rotary(q, k, torch.full((n,), cut))
    _, far_k = layer.rotary(q, k, torch.zeros(n))
    gap = torch.arange(n)[:, None] - torch.arange(n)
    scores = torch.where(gap > cut, far_q @ far_k.mT, near_q @ near_k.mT) / layer.d_head**0.5
    weights = scores.masked_fill(gap < 0, -torch.inf).softmax(-1)
    return layer.out_proj((weights @ v).transpose(1, 2).flatten(-2))


def draw(
    batch: int, n: int, generator: torch.Generator | None = None, *, blocks: tuple[int, int] | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Draw texts, each a block of different words over and over.

    Args:
        batch: number of texts.
        n: words in each.
        generator: source of chance.
        blocks: words in the shortest and in the longest block; n / 8 and 3 n / 4 unless given.

    Returns:
        Words and next words (batch, n), and where the next word can be known: after the first block.

    >>> ids, following, known = draw(1, 16, torch.Generator().manual_seed(0), blocks=(2, 2))
    >>> (ids[0, 2:] == ids[0, :-2]).all().item(), known[0, :4].tolist()
    (True, [False, False, True, True])
    """
    shortest, longest = (n // 8, 3 * n // 4) if blocks is None else blocks
    size = torch.randint(shortest, longest + 1, (batch, 1), generator=generator)
    block = torch.rand(batch, WORDS, generator=generator).argsort(1)
    text = block.gather(1, torch.arange(n + 1) % size)
    return text[:, :-1], text[:, 1:], torch.arange(n) >= size


@torch.no_grad()
def right(
    model: Repeater, n: int, *, near: bool = False, seed: int = 0, texts: int = 60, **limits: int | None
) -> float:
    """Return the accuracy in per cent on texts of n words, the same for every model.

    Args:
        model: a trained model.
        n: words in a text.
        near: only blocks as short as those of training.
        seed: which texts.
        texts: how many.
        limits: `within` or `cut`, as the model takes them.
    """
    chance = torch.Generator().manual_seed(1_000_000 + seed)
    blocks = (TRAINED // 8, 3 * TRAINED // 4) if near else None
    ids, following, known = draw(texts, n, chance, blocks=blocks)
    return 100 * (model(ids, **limits).argmax(-1) == following)[known].double().mean().item()


def learn(model: Repeater, n: int, rate: float, steps: int) -> list[float]:
    """Train a model on texts of n words, and return the share of right words in every twenty batches.

    Args:
        model: changed in place.
        n: words in a text.
        rate: Adam's learning rate.
        steps: batches of 32 texts, each seen once; a multiple of 20.
    """
    adam, shares = torch.optim.Adam(model.parameters(), lr=rate), []
    for _ in range(steps):
        ids, following, known = draw(BATCH, n)
        scores, wanted = model(ids)[known], following[known]
        shares.append((scores.argmax(-1) == wanted).double().mean())
        adam.zero_grad()
        F.cross_entropy(scores, wanted).backward()
        adam.step()
    return torch.stack(shares).unflatten(0, (-1, EVERY)).mean(1).tolist()


def choose(rate: float, seeds: Iterable[int]) -> dict[str, dict[str, float]]:
    """Try the numbers that two ways leave open, with models and texts of 128 words that nothing else uses.

    Args:
        rate: Adam's learning rate.
        seeds: of the models, none of which should be tested afterwards.

    Returns:
        Under "kept from" and "larger", for each number tried the mean accuracy in per cent.
    """
    right_at: dict[str, dict[str, list[float]]] = {"kept from": {}, "larger": {}}
    for seed in seeds:
        torch.manual_seed(seed)
        model = Repeater()
        learn(model, TRAINED, rate, STEPS)
        for number in KEPT_FROMS:
            now = right(model.stretch("by parts", kept_from=number), FACTOR * TRAINED, seed=2)
            right_at["kept from"].setdefault(f"{number:g}", []).append(now)
        for number in LARGERS:
            now = right(model.stretch("larger base, chosen", larger=number), FACTOR * TRAINED, seed=2)
            right_at["larger"].setdefault(f"{number:g}", []).append(now)
    return {name: {at: fmean(found) for at, found in tried.items()} for name, tried in right_at.items()}


def repeat(rate: float, seed: int) -> Run:
    """Train on 32 words; read texts of 32, 64 and 128 in every way (a candidate for `sweep`).

    Returns:
        A run whose value is the share of right words in other texts of 32. In its extras are accuracies in
        per cent: "way, n" for each way and length; "way, near" for texts of 128 whose blocks are as short as
        those of training; the same under "hidden" for keys out of the trained reach hidden, and under "cut"
        for their distances cut down to it.
    """
    torch.manual_seed(seed)
    model = Repeater()
    curve = learn(model, TRAINED, rate, STEPS)
    long, extras = FACTOR * TRAINED, {}
    for way in get_args(Way):
        model.stretch(way)
        extras |= {f"{way}, {n}": right(model, n) for n in (TRAINED, long // 2, long)}
        extras[f"{way}, near"] = right(model, long, near=True)
    model.stretch("as it is")
    for name, limit in (("hidden", {"within": TRAINED - 1}), ("cut", {"cut": TRAINED - 1})):
        extras |= {f"{name}, {n}": right(model, n, **limit) for n in (TRAINED, long // 2, long)}
        extras[f"{name}, near"] = right(model, long, near=True, **limit)
    return Run(curve, EVERY, value=right(model, TRAINED, seed=1) / 100, extras=extras)
