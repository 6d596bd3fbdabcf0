"""Gradient descent for many small models side by side, each with a learning rate of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import torch
from torch import Tensor

from attnbook.experiments.runs import Run

Optimizer = Literal["SGD", "Adam"]
DTYPE = torch.float32
"""Of what is trained here, whatever the page's default: another one would draw other numbers."""
LOST = 1e3
"""A loss this many times that of the first step counts as diverged: nothing here comes back from there."""


class Descent:
    """Plain gradient descent or Adam, as `torch.optim` has them, with one learning rate for each model.

    Args:
        parameters: tensors whose first dimension counts the models.
        rates: (models,) learning rates.
        optimizer: "SGD" or "Adam", the latter with the usual moments of 0.9 and 0.999.
        factors: what the rates are multiplied with, one number for each tensor; 1 for all unless given.

    Raises:
        ValueError: the optimizer is neither, or there are not as many factors as tensors.

    References:
        Kingma and Ba 2015, algorithm 1.

    >>> x = torch.tensor([[1.0], [1.0]], requires_grad=True)
    >>> (x**2).sum().backward()
    >>> Descent([x], torch.tensor([0.1, 0.5]), "SGD").step()
    >>> x.detach().flatten().tolist()
    [0.800000011920929, 0.0]
    """

    def __init__(
        self,
        parameters: Sequence[Tensor],
        rates: Tensor,
        optimizer: Optimizer,
        factors: Sequence[float] | None = None,
    ) -> None:
        if optimizer not in ("SGD", "Adam"):
            raise ValueError(f"optimizer must be 'SGD' or 'Adam', got {optimizer!r}")
        self.parameters, self.optimizer, self.count = list(parameters), optimizer, 0
        factors = [1.0] * len(self.parameters) if factors is None else list(factors)
        if len(factors) != len(self.parameters):
            raise ValueError(
                f"factors must be {len(self.parameters)} numbers, one for each tensor, got {factors}"
            )
        self.rates = [
            factor * rates.to(p).view(-1, *[1] * (p.ndim - 1))
            for factor, p in zip(factors, self.parameters, strict=True)
        ]
        self.moments = [(torch.zeros_like(p), torch.zeros_like(p)) for p in self.parameters]

    @torch.no_grad()
    def step(self) -> None:
        """Move every parameter against its gradient, and clear the gradients."""
        self.count += 1
        for p, rate, (mean, square) in zip(self.parameters, self.rates, self.moments, strict=True):
            if self.optimizer == "SGD":
                p -= rate * p.grad
            else:
                mean.lerp_(p.grad, 0.1)
                square.lerp_(p.grad.square(), 0.001)
                correction = (1 - 0.999**self.count) ** 0.5
                p -= rate * (mean / (1 - 0.9**self.count)) / (square.sqrt() / correction + 1e-8)
            p.grad = None


def descend(
    parameters: Sequence[Tensor],
    rates: Tensor,
    measure: Callable[[int], tuple[Tensor, Tensor]],
    *,
    steps: int,
    every: int,
    optimizer: Optimizer,
    factors: Sequence[float] | None = None,
) -> list[Run]:
    """Train models side by side and watch each of them.

    Args:
        parameters: tensors whose first dimension counts the models; they are changed.
        rates: (models,) learning rates.
        measure: step -> the loss of each model, (models,), and what its curve shows, (models,), both on
            examples that are new at this step: so the curve is measured on what no model has learned from.
        steps: how many steps.
        every: so many steps make a point of the curve, their mean.
        optimizer: "SGD" or "Adam".
        factors: what the rates of each tensor are multiplied with, as in `Descent`.

    Returns:
        A run for each model. From the step at which its loss is not finite, or a thousand times that of the
        first step, its curve is NaN.
    """
    descent, watched, alive, first = Descent(parameters, rates, optimizer, factors), [], None, None
    for step in range(steps):
        loss, shown = measure(step)
        if first is None:
            first, alive = loss.detach(), torch.ones_like(loss, dtype=torch.bool)
        alive &= loss.detach().isfinite() & (loss.detach() < LOST * first)
        # The sum over models gives each the gradient that it would get alone; a lost one must not spread NaN.
        loss.where(alive, torch.zeros_like(loss)).sum().backward()
        for p in parameters:
            p.grad.nan_to_num_(0.0, 0.0, 0.0)
        descent.step()
        watched.append(shown.detach().where(alive, torch.nan))
    points = torch.stack(watched, -1)[:, : steps // every * every].unflatten(-1, (-1, every)).mean(-1)
    return [Run(curve.tolist(), every=every) for curve in points]


def by_seed(
    train: Callable[[Sequence[float], int], Sequence[Run]], pairs: Sequence[tuple[float, int]]
) -> list[Run]:
    """Train the rates of each seed side by side.

    Args:
        train: takes the rates and their seed, and returns a run for each rate.
        pairs: a rate and a seed for each run.

    Returns:
        The runs in the order of `pairs`.

    >>> runs = by_seed(lambda rates, seed: [Run(value=seed + rate) for rate in rates], [(0.5, 1), (0.25, 0)])
    >>> [run.value for run in runs]
    [1.5, 0.25]
    """
    runs: dict[tuple[float, int], Run] = {}
    for seed in dict.fromkeys(seed for _, seed in pairs):
        rates = [rate for rate, other in pairs if other == seed]
        runs |= zip([(rate, seed) for rate in rates], train(rates, seed), strict=True)
    return [runs[pair] for pair in pairs]
