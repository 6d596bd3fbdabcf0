"""From scores to one word: what is done to the probabilities, and the draw.

Each rule takes probabilities (..., vocab_size) and returns probabilities. It sets some to zero and divides
the others by their sum; an order among equals is that of the vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from attnlab.arguments import at_least


def temper(scores: Tensor, temperature: float = 1.0) -> Tensor:
    """Return softmax(scores / temperature); at temperature 0 its limit, all on the best word.

    Args:
        scores: (..., vocab_size).
        temperature: at least 0. Small ones favour the best words, large ones even them out.

    Returns:
        Probabilities (..., vocab_size), at least fp32.

    Raises:
        ValueError: the temperature is negative, or no number.

    >>> temper(torch.tensor([0.0, 1.0, 1.0]), 0).tolist()
    [0.0, 1.0, 0.0]
    """
    if isinstance(temperature, str) or not temperature >= 0:
        raise ValueError(f"temperature must be at least 0, got {temperature!r}")
    scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
    if temperature:
        return ((scores - scores.amax(-1, keepdim=True)) / temperature).softmax(-1)
    return F.one_hot(scores.argmax(-1), scores.shape[-1]).to(scores.dtype)


def top_k(p: Tensor, k: int) -> Tensor:
    """Keep the k most probable words.

    Args:
        p: probabilities (..., vocab_size).
        k: at least 1; all are kept if there are no more.

    Returns:
        Probabilities (..., vocab_size).

    Raises:
        ValueError: k is smaller than 1.

    References:
        Fan et al. 2018.

    >>> top_k(torch.tensor([0.5, 0.3, 0.2]), 2).tolist()
    [0.625, 0.375, 0.0]
    """
    at_least(1, k=k)
    return _keep(p, lambda best: torch.arange(best.shape[-1], device=p.device) < k)


def top_p(p: Tensor, share: float) -> Tensor:
    """Keep the fewest words that have a share of the probability: the best, as many as it takes.

    Args:
        p: probabilities (..., vocab_size).
        share: larger than 0, at most 1.

    Returns:
        Probabilities (..., vocab_size).

    Raises:
        ValueError: the share is out of its range.

    References:
        Holtzman et al. 2020 (nucleus sampling).

    >>> top_p(torch.tensor([0.5, 0.3, 0.2]), 0.6).tolist()
    [0.625, 0.375, 0.0]
    """
    _is_share("share", share)
    if share == 1:
        return _normed(p)  # rounded sums may reach 1 before the last word

    def stays(best: Tensor) -> Tensor:
        before = best.cumsum(-1).roll(1, -1)
        before[..., 0] = 0  # how much the better ones have together
        return before < share

    return _keep(p, stays)


def min_p(p: Tensor, share: float) -> Tensor:
    """Keep the words that have at least a share of the best word's probability.

    Args:
        p: probabilities (..., vocab_size).
        share: larger than 0, at most 1.

    Returns:
        Probabilities (..., vocab_size).

    Raises:
        ValueError: the share is out of its range.

    References:
        Nguyen et al. 2025.

    >>> min_p(torch.tensor([0.5, 0.3, 0.2]), 0.5).tolist()
    [0.625, 0.375, 0.0]
    """
    _is_share("share", share)
    return _normed(p * (p >= share * p.amax(-1, keepdim=True)))


RULES: dict[str, Callable[[Tensor, float], Tensor]] = {"top_k": top_k, "top_p": top_p, "min_p": min_p}
"""What can be done after the temperature, in this order."""


def distribution(scores: Tensor, temperature: float = 1.0, **limits: float | None) -> Tensor:
    """Apply the rules that are given, one after another: temperature, top-k, top-p, min-p.

    Args:
        scores: (..., vocab_size).
        temperature: see `temper`.
        limits: `top_k`, `top_p`, `min_p`: the number for each; None leaves the rule out.

    Returns:
        Probabilities (..., vocab_size) of which the next word is drawn.

    Raises:
        TypeError: there is no such rule.
        ValueError: a number is out of its range.

    >>> distribution(torch.tensor([0.5, 0.3, 0.2]).log(), top_k=2).mul(1000).round().tolist()
    [625.0, 375.0, 0.0]
    """
    unknown = limits.keys() - RULES
    if unknown:
        raise TypeError(f"the rules are {', '.join(RULES)}; got {', '.join(sorted(unknown))}")
    for name, limit in limits.items():  # by the names that are known here: the rules have their own
        if limit is not None:
            at_least(1, top_k=limit) if name == "top_k" else _is_share(name, limit)
    p = temper(scores, temperature)
    for name, rule in RULES.items():
        if limits.get(name) is not None:
            p = rule(p, limits[name])
    return p


def draw(p: Tensor, generator: torch.Generator | None = None) -> Tensor:
    """Draw a word for each row.

    Args:
        p: probabilities (rows, vocab_size).
        generator: where the draws come from.

    Returns:
        Numbers of words (rows, 1).

    >>> draw(torch.tensor([[0.0, 1.0], [1.0, 0.0]])).tolist()
    [[1], [0]]
    """
    return torch.multinomial(p, 1, generator=generator)


def _keep(p: Tensor, which: Callable[[Tensor], Tensor]) -> Tensor:
    """Keep the words for which `which` says so, asked of all probabilities from the largest down."""
    best, order = p.sort(dim=-1, descending=True, stable=True)
    return _normed(p * torch.zeros_like(p, dtype=torch.bool).scatter(-1, order, which(best).expand_as(p)))


def _normed(p: Tensor) -> Tensor:
    return p / p.sum(-1, keepdim=True)


def _is_share(name: str, share: float) -> None:
    if not 0 < share <= 1:
        raise ValueError(f"{name} must be larger than 0 and at most 1, got {share}")
