"""The exercise in which a reader writes the layer: built, given numbers, and called in several ways."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from attnbook.checks import running
from attnbook.checks.exercise import exercise, late, mistake, rows
from attnbook.checks.running import Outcome
from attnbook.checks.values import Tolerance, describe

PARTS = ("q_proj", "k_proj", "v_proj")
LONG = 8
"""How much longer the tokens of one call are: its scores lie in the hundreds."""


def _normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def fill(layer: Any, parts: tuple[str, ...], called_so: str) -> dict[str, tuple[int, ...]]:
    """Give the matrices of a layer numbers, each its own.

    Args:
        layer: what the reader's class made.
        parts: the names of its linear layers.
        called_so: the name of the class, for messages.

    Returns:
        The shapes of all its parameters, by name, in the order of the names.

    Raises:
        ValueError: a sentence about what is not there, or has a bias.
    """
    if not isinstance(layer, nn.Module):
        raise ValueError(f"{called_so}(...) should make a torch.nn.Module, it made {describe(layer)}.")
    for name in parts:
        part = getattr(layer, name, None)
        if not isinstance(part, nn.Linear):
            what = "there is none" if part is None else f"it is a {type(part).__name__}"
            raise ValueError(f"{name} should be an nn.Linear; {what}.")
    if any(getattr(layer, name).bias is not None for name in parts):
        raise ValueError(f"The {({3: 'three', 4: 'four'})[len(parts)]} linear layers should have no bias.")
    frozen = [name for name in parts if not getattr(layer, name).weight.requires_grad]
    if frozen:
        raise ValueError(f"{frozen[0]} can't learn: its weights have requires_grad=False.")
    shapes = {name: tuple(value.shape) for name, value in layer.named_parameters()}
    with torch.no_grad():
        for i, name in enumerate(parts):
            weight = getattr(layer, name).weight
            weight.copy_(1.5 * _normal(*weight.shape, seed=i) / weight.shape[1] ** 0.5)
    return shapes


def use(head: Any) -> dict[str, Any]:
    """Give a layer numbers, call it with and without a memory, and note what comes out.

    Args:
        head: what the reader's class made.

    Returns:
        Name -> value: the shapes of the matrices, outputs, and gradients.

    Raises:
        ValueError: a sentence about a layer that can't be used.
    """
    shapes = fill(head, PARTS, "Head")
    found: dict[str, Any] = {}
    wide, other = head.q_proj.in_features, head.k_proj.in_features
    for lead, n_q, n_k in (((), 5, 3), ((wide % 4 + 1, 3), 4, 7) if wide <= 40 else ((2,), 43, 44)):
        name = f"head(x, memory) of {n_q} and {n_k} tokens" + (f", in a batch of {lead}" if lead else "")
        given = {"x": _normal(*lead, n_q, wide, seed=3), "memory": _normal(*lead, n_k, other, seed=4)}
        found |= called(head, name, given)
    # As many tokens as in the first call, and others: whoever keeps what was, by its shape, is found out.
    given = {"x": _normal(5, wide, seed=7), "memory": _normal(3, other, seed=8)}
    found |= called(head, "head(x, memory) of 5 and 3 other tokens", given)
    found["head(x, memory) with scores in the hundreds"] = withstand(head, wide, other)
    if wide == other:
        found |= called(head, "head(x)", {"x": _normal(2, 6, wide, seed=5)})
        given = {"x": _normal(2, 6, wide, seed=5), "memory": _normal(2, 6, wide, seed=9)}
        found |= called(head, "head(x, memory) of one shape", given)
        found |= called(head, "head(x) after a call with a memory", {"x": _normal(2, 6, wide, seed=10)})
    return {"parameters": shapes, "calls": found}


def withstand(layer: nn.Module, wide: int, other: int) -> Tensor:
    """Call a layer once with scores in the hundreds.

    Args:
        layer: it asks tokens of width `other` with tokens of width `wide`.
        wide: numbers of a token that asks.
        other: numbers of a token that is asked.

    Returns:
        The output.

    Raises:
        ValueError: a sentence about an output that is not a number.
    """
    given = {"x": LONG * _normal(5, wide, seed=3), "memory": LONG * _normal(3, other, seed=4)}
    out = output(layer, "scores in the hundreds", given)
    if out.isnan().any():
        raise ValueError(
            "With scores in the hundreds the output is not a number: exp overflows. "
            "Tensor.softmax takes the largest score off first."
        )
    return out.detach()


def output(layer: nn.Module, name: str, given: dict[str, Tensor]) -> Tensor:
    """Call a layer as a reader's function is called: with limits, and on copies.

    Args:
        layer: the layer.
        name: what a message calls the call.
        given: its arguments by name.

    Returns:
        The output.

    Raises:
        ValueError: a sentence about what went wrong.
    """
    return _outcome(layer, name, given).value


def _outcome(layer: nn.Module, name: str, given: dict[str, Tensor], leaves: tuple[str, ...] = ()) -> Outcome:
    forward = type(layer).forward
    parameters = inspect.signature(forward).parameters.values()
    # By place, whatever the reader calls it; by name the mask, and what the reader's layer takes by name alone.
    by_name = {"mask"} | {one.name for one in parameters if one.kind is one.KEYWORD_ONLY}

    @functools.wraps(forward)
    def call(*tensors: Tensor) -> Tensor:
        pairs = list(zip(given, tensors, strict=True))
        return layer(*(x for k, x in pairs if k not in by_name), **{k: x for k, x in pairs if k in by_name})

    outcome = running.run(call, lambda: {k: x.clone() for k, x in given.items()}, leaves=leaves)
    if outcome.trouble:
        sizes = ", ".join(f"{k} {tuple(x.shape)}" for k, x in given.items())
        raise ValueError(f"{name}, {sizes}: {outcome.trouble[0].lower()}{outcome.trouble[1:]}")
    if not isinstance(outcome.value, Tensor):
        raise ValueError(f"{name} should return a tensor, it returned {describe(outcome.value)}.")
    return outcome


def called(
    head: nn.Module, name: str, given: dict[str, Tensor], parts: tuple[str, ...] = PARTS
) -> dict[str, Any]:
    """Call a layer as a reader's function is called: with limits, on copies; and pass gradients back.

    Args:
        head: the layer.
        name: what a message calls the call.
        given: its arguments by name; gradients are asked of those that are floating.
        parts: the linear layers whose gradients are asked.

    Returns:
        The output and the gradients, by name.

    Raises:
        ValueError: a sentence about what went wrong.
    """

    outcome = _outcome(head, name, given, tuple(k for k, x in given.items() if x.is_floating_point()))
    out, slopes = outcome.value, dict(outcome.slopes)
    if out.requires_grad and out.is_floating_point():
        weights = [getattr(head, part).weight for part in parts]
        probe = _normal(*out.shape, seed=6).to(out.dtype)
        try:
            found = torch.autograd.grad(out, weights, probe, allow_unused=True)
        except RuntimeError as error:
            raise ValueError(f"{name}: the backward pass raised RuntimeError: {error}") from None
        slopes |= zip(parts, found, strict=True)
    else:
        slopes |= dict.fromkeys(parts)
    missing = [part for part, slope in slopes.items() if slope is None]
    if missing:
        raise ValueError(f"{name}: no gradient reaches {missing[0]}. It is not used, or detached on the way.")
    return {name: out.detach()} | {f"the gradient of {k} in {name}": slope for k, slope in slopes.items()}


def _head(
    scale: Callable[[int, int, int], float] = lambda m, k, v: k**-0.5,
    weigh: Callable[[Tensor], Tensor] = lambda s: s.softmax(-1),
) -> Callable[[int, int, int, int], nn.Module]:
    """A layer with a part that can be exchanged."""

    class Head(nn.Module):
        def __init__(self, d_model: int, d_memory: int, d_k: int, d_v: int) -> None:
            super().__init__()
            self.factor = scale(d_model, d_k, d_v)
            self.q_proj = nn.Linear(d_model, d_k, bias=False)
            self.k_proj = nn.Linear(d_memory, d_k, bias=False)
            self.v_proj = nn.Linear(d_memory, d_v, bias=False)

        def forward(self, x: Tensor, memory: Tensor | None = None) -> Tensor:
            memory = x if memory is None else memory
            q, k, v = self.q_proj(x), self.k_proj(memory), self.v_proj(memory)
            return weigh(q @ k.mT * self.factor) @ v

    def make(d_model: int, d_memory: int, d_k: int, d_v: int) -> nn.Module:
        return Head(d_model, d_memory, d_k, d_v)

    return make


def _reference(d_model: int, d_memory: int, d_k: int, d_v: int) -> dict[str, Any]:
    return use(_head()(d_model, d_memory, d_k, d_v))


exercise(
    "queries-layer",
    "Head",
    reference=_reference,
    read=use,
    cases=rows("d_model d_memory d_k d_v", (5, 8, 3, 4), (6, 6, 4, 9), (7, 2, 16, 5), (3, 9, 1, 1))
    + late(*rows("d_model d_memory d_k d_v", (45, 46, 47, 48))),
    within=Tolerance(1e-4, 1e-4),  # gradients reach 40: near a saturated row, those near 0 are rounding
    stub="""class Head(torch.nn.Module):
    def __init__(self, d_model, d_memory, d_k, d_v):
        ...  # your code here

    def forward(self, x, memory=None):
        ...  # and here""",
    mistakes=[
        mistake(
            "The scores are not scaled. Divide them by the root of d_k.", _head(scale=lambda m, k, v: 1.0)
        ),
        mistake("It divides by d_k. Divide by its square root.", _head(scale=lambda m, k, v: 1 / k)),
        mistake(
            "It divides by the root of d_model. The scores are sums over d_k products.",
            _head(scale=lambda m, k, v: m**-0.5),
        ),
        mistake(
            "It divides by the root of d_v. The scores are sums over d_k products.",
            _head(scale=lambda m, k, v: v**-0.5),
        ),
        mistake("It multiplies by the root of d_k. Divide.", _head(scale=lambda m, k, v: k**0.5)),
        mistake(
            "The softmax runs down the columns. Each row belongs to one query: use dim=-1.",
            _head(weigh=lambda s: s.softmax(-2)),
        ),
        mistake(
            "The softmax runs along dimension 1, which is another one in a batch. Count from the end: dim=-1.",
            _head(weigh=lambda s: s.softmax(1)),
        ),
        mistake("There is no softmax between the scores and the sum.", _head(weigh=lambda s: s)),
    ],
    praise="A layer with three matrices that asks itself, or another text of any length, in any batch.",
)
