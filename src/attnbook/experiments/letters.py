"""Say the letter before: a task with nothing in it but order, for every kind of position."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnbook.experiments.runs import Run
from attnlab.masks import window
from attnlab.multihead import MultiHeadAttention
from attnlab.positions import LearnedPositions, RelativeBias, RotaryPositions, alibi, sinusoidal

Scheme = Literal["no positions", "learned", "sinusoids", "relative bias", "ALiBi", "RoPE"]
TRAINED = 16
"""Letters in a text of training."""
LENGTHS = (16, 32, 64)
"""Letters in the texts that every model is tested on."""
LETTERS, D_MODEL, N_HEADS = 8, 32, 4
STEPS, BATCH, EVERY = 200, 32, 10
"""Batches to a point of the curve."""
BIAS_RATE = 10
"""The relative bias learns so many times as fast as all else."""


class LetterBefore(nn.Module):
    """One layer of attention, with any of the schemes, that says the letter before each letter.

    Args:
        scheme: how it is told the order.
        d_model: width.
        n_heads: number of heads.
        std: spread of learned positions at the start; that of the letters is 1.
        base: that of RoPE.

    Raises:
        ValueError: the scheme is unknown.

    >>> LetterBefore("RoPE")(torch.zeros(2, 5, dtype=torch.long)).shape
    torch.Size([2, 5, 8])
    """

    def __init__(
        self,
        scheme: Scheme,
        *,
        d_model: int = D_MODEL,
        n_heads: int = N_HEADS,
        std: float = 1.0,
        base: float = 10000.0,
    ) -> None:
        super().__init__()
        if scheme not in get_args(Scheme):
            raise ValueError(f"scheme must be {', '.join(get_args(Scheme))}; got {scheme!r}")
        self.scheme, self.d_model, self.n_heads = scheme, d_model, n_heads
        self.letters, self.out = nn.Embedding(LETTERS, d_model), nn.Linear(2 * d_model, LETTERS)
        rotary = scheme == "RoPE" and RotaryPositions(base=base)
        self.attend = MultiHeadAttention(d_model, n_heads, rotary=rotary)
        self.table = LearnedPositions(max(LENGTHS), d_model, std=std)
        self.relative = RelativeBias(n_heads, reach=8)

    def forward(self, ids: Tensor, *, within: int | None = None) -> Tensor:
        """Score every letter as the one before each.

        Args:
            ids: letters (batch, n).
            within: hide keys that are farther away than this; none unless given.

        Returns:
            Scores (batch, n, 8).
        """
        x, n = self.letters(ids), ids.shape[1]  # (batch, n, d_model)
        bias = None
        if self.scheme == "sinusoids":
            x = x + sinusoidal(n, self.d_model)
        elif self.scheme == "learned":
            x = self.table(x)
        elif self.scheme == "relative bias":
            bias = self.relative(n)[None]  # (1, n_heads, n, n)
        elif self.scheme == "ALiBi":
            bias = alibi(self.n_heads, n)[None]
        mask = None if within is None else window(n, within, within)
        return self.out(torch.cat((x, self.attend(x, mask=mask, bias=bias)), -1))


def letter_before(
    scheme: Scheme,
    *,
    std: float = 1.0,
    steps: int = STEPS,
    bias_rate: float = BIAS_RATE,
    n_heads: int = N_HEADS,
    base: float = 10000.0,
) -> Callable[[float, int], Run]:
    """Make a candidate for `sweep`: train on texts of 16 letters, test on 16, 32 and 64.

    Adam moves a number by about the rate a step, whatever its gradient is. A relative bias starts at zero and
    must come as far as scores do, so it has a rate of its own, a multiple of the others'.

    Args:
        scheme: how the model is told the order.
        std: spread of learned positions at the start.
        steps: batches of 32 texts, each seen once; a multiple of 10.
        bias_rate: the rate of the relative bias, in rates of all else.
        n_heads: number of heads, which share a width of 32.
        base: that of RoPE.

    Returns:
        A function of learning rate and seed. Its run's curve is the share of right letters in ten batches,
        each counted before the model learns from it, the value that on other texts of 16; in the extras "16",
        "32" and "64" are accuracies in per cent, and with "near" those without the keys that are farther away
        than any in training. The first letter has none before it and does not count.

    Raises:
        ValueError: steps is no positive multiple of 10.

    >>> run = letter_before("RoPE", steps=20)(0.01, 0)
    >>> len(run.curve), list(run.extras)
    (2, ['16', '32', '64', '32 near', '64 near'])
    """
    if steps < EVERY or steps % EVERY:
        raise ValueError(f"steps must be a positive multiple of {EVERY}, got {steps}")

    def train(rate: float, seed: int) -> Run:
        torch.manual_seed(seed)
        model, right = LetterBefore(scheme, n_heads=n_heads, std=std, base=base), []
        others = [p for name, p in model.named_parameters() if not name.startswith("relative")]
        groups = [{"params": others}, {"params": model.relative.parameters(), "lr": bias_rate * rate}]
        adam = torch.optim.Adam(groups, lr=rate)
        for _ in range(steps):
            ids = torch.randint(LETTERS, (BATCH, TRAINED))
            said, wanted = model(ids)[:, 1:], ids[:, :-1]
            right.append((said.argmax(-1) == wanted).double().mean().item())
            loss = F.cross_entropy(said.flatten(0, 1), wanted.flatten())
            adam.zero_grad()
            loss.backward()
            adam.step()
        curve = torch.tensor(right).unflatten(0, (-1, EVERY)).mean(1).tolist()
        return Run(curve, EVERY, value=_right(model, TRAINED, seed=1) / 100, extras=_lengths(model))

    train.told = {
        "optimizer": "Adam",
        "steps": steps,
        "batch": BATCH,
        "examples": "texts",
        "tokens": TRAINED,
        "d_model": D_MODEL,
        "n_heads": n_heads,
        "counts": "letters right in 200 new texts of as many",
    }
    train.told |= {"std": std} if scheme == "learned" else {}
    train.told |= {"bias_rate": bias_rate} if scheme == "relative bias" else {}
    train.told |= {"base": base} if scheme == "RoPE" else {}
    return train


def _lengths(model: LetterBefore) -> dict[str, float]:
    far = {f"{n}": _right(model, n) for n in LENGTHS}
    return far | {f"{n} near": _right(model, n, within=TRAINED - 1) for n in LENGTHS[1:]}


@torch.no_grad()
def _right(model: LetterBefore, n: int, *, within: int | None = None, seed: int = 0) -> float:
    """Return the accuracy in per cent on texts of n letters, the same for every model."""
    draw = torch.Generator().manual_seed(1_000_000 + seed)
    ids = torch.randint(LETTERS, (200, n), generator=draw)
    said = model(ids, within=within)[:, 1:].argmax(-1)
    return 100 * (said == ids[:, :-1]).double().mean().item()
