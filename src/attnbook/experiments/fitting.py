"""The loop in which the small tasks train: one optimiser, one schedule, one curve."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn
from tqdm.auto import trange


def fit(
    model: nn.Module,
    loss: Callable[[], Tensor],
    watch: Callable[[], float],
    *,
    rate: float,
    steps: int,
    every: int,
    decay: bool = True,
    warm: int = 20,
    until: float | None = None,
    clip: float | None = None,
    progress: bool = False,
) -> list[float]:
    """Train with AdamW and return the curve of what is watched.

    The rate rises over the first steps, then stays, or falls along a cosine to zero.

    Args:
        model: what is trained, in place.
        loss: draws a batch and returns its loss.
        watch: measures the model on data that it does not learn from; runs without gradients.
        rate: the learning rate at its height.
        steps: how many updates at most.
        every: steps between two points of the curve.
        decay: let the rate fall.
        warm: steps in which it rises.
        until: stop once three points in a row have reached this.
        clip: the longest gradient; a longer one is shortened to it. Recurrent networks need it.
        progress: show a bar if it takes more than two seconds. Within a sweep, which has its own, none.

    Returns:
        The curve; point i stands for step (i + 1) · `every`. It ends early, with a NaN, if the loss is not
        finite.

    >>> model = nn.Linear(1, 1)
    >>> x = torch.linspace(-1, 1, 9)[:, None]
    >>> curve = fit(
    ...     model, lambda: (model(x) - 2 * x).square().mean(), lambda: model.weight.item(),
    ...     rate=0.1, steps=200, every=50,
    ... )
    >>> len(curve), round(curve[-1], 2)
    (4, 2.0)
    """
    optimizer, warm = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.0), min(warm, steps)

    def height(step: int) -> float:
        if step < warm:
            return (step + 1) / warm
        return (1 + math.cos(math.pi * (step - warm) / max(steps - warm, 1))) / 2 if decay else 1.0

    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, height)
    curve: list[float] = []
    for step in trange(1, steps + 1, disable=not progress, unit="step", delay=2):
        found = loss()
        if not found.isfinite():
            return [*curve, math.nan]
        optimizer.zero_grad()
        found.backward()
        if clip is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        schedule.step()
        if step % every == 0:
            with torch.no_grad():
                curve.append(watch())
            if until is not None and len(curve) > 2 and min(curve[-3:]) >= until:
                break
    return curve
