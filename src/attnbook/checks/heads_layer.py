"""The exercise in which a reader writes a layer of several heads: built, given numbers, and called in several ways."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from attnbook.checks.exercise import exercise, mistake, rows
from attnbook.checks.queries_layer import LONG, called, fill, output, withstand
from attnbook.checks.values import Tolerance
from attnlab.multihead import MultiHeadAttention

PARTS = ("q_proj", "k_proj", "v_proj", "out_proj")
READY_MADE = (MultiHeadAttention, nn.MultiheadAttention)
SIZES = {(6, 5): (3, 4), (8, 8): (2, 3), (5, 7): (4, 2), (4, 4): (1, 6), (3, 9): (5, 1)}
"""For each d_model and d_memory that is tried: how many heads, and how wide. No two numbers of a case fit by chance."""
MASKS = {"": "no mask", "table": "a mask", "heads": "a mask for each head"}


def _drawn(*shape: int, seed: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def _mask(*shape: int, seed: int) -> Tensor:
    """Let about half of the pairs attend, and in each row at least one."""
    drawn = _drawn(*shape, seed=seed)
    return (drawn > 0) | (drawn == drawn.amax(-1, keepdim=True))


def _calls(wide: int, other: int) -> list[tuple[str, dict[str, Tensor]]]:
    heads = SIZES.get((wide, other), (1,))[0]
    found = []
    # The fourth to the sixth have the same shapes: whoever keeps anything by its shape, or a mask, is found out.
    for lead, n_q, n_k, masked, seed in (
        ((2,), 5, 3, "", 0),
        ((), 4, 4, "heads", 5),
        ((2, 3), 1, 6, "table", 5),
        ((2,), 4, 9, "heads", 5),
        ((2,), 4, 9, "heads", 6),
        ((2,), 4, 9, "", 7),
        ((), 3, 40, "table", 5),
    ):
        given = {
            "x": _drawn(*lead, n_q, wide, seed=3 + seed),
            "memory": _drawn(*lead, n_k, other, seed=4 + seed),
        }
        if masked:
            front = (*lead, heads) if masked == "heads" else ()
            given["mask"] = _mask(*front, n_q, n_k, seed=seed)
        again = ", with other numbers" if seed == 6 else ""
        found.append(
            (f"heads(x, memory) of {n_q} and {n_k} tokens, {lead} in front, {MASKS[masked]}{again}", given)
        )
    if wide == other:
        found.append(("heads(x)", {"x": _drawn(2, 6, wide, seed=6)}))
        found.append(
            ("heads(x, mask=mask)", {"x": _drawn(2, 6, wide, seed=7), "mask": torch.ones(6, 6).tril() > 0})
        )
    return found  # fmt: skip


def use(layer: Any) -> dict[str, Any]:
    """Give a layer numbers, call it in several ways, and note what comes out.

    Args:
        layer: what the reader's class made.

    Returns:
        Name -> value: the shapes of the matrices, outputs, and gradients.

    Raises:
        ValueError: a sentence about a layer that can't be used.
    """
    if isinstance(layer, nn.Module) and any(isinstance(part, READY_MADE) for part in layer.modules()):
        raise ValueError("A ready-made layer does the work. Here four linear layers and the attention do it.")
    shapes = fill(layer, PARTS, "Heads")
    wide, other = layer.q_proj.in_features, layer.k_proj.in_features
    found: dict[str, Any] = {}
    for name, given in _calls(wide, other):
        found |= called(layer, name, given, PARTS)
    found["heads(x, memory) with scores in the hundreds"] = withstand(layer, wide, other)
    found["outputs that move when what the mask hides changes, with scores in the hundreds"] = _moved(
        layer, wide, other
    )
    layer.double()
    for name, given in _calls(wide, other)[:2]:
        doubles = {k: x.double() if x.is_floating_point() else x for k, x in given.items()}
        found |= called(layer, f"after heads.double(), {name}", doubles, PARTS)
    return {"parameters": shapes, "calls": found}


def _moved(layer: nn.Module, wide: int, other: int) -> Tensor:
    """Count the outputs that move when tokens behind the mask change, be the scores in view hundreds below 0."""
    x, memory = LONG * _drawn(8, wide, seed=3), LONG * _drawn(3, other, seed=4)
    mask = torch.tensor([True, False, False]).repeat(8, 1)
    memories = (memory, torch.cat((memory[:1], -memory[1:])))
    before, after = (
        output(layer, "scores in the hundreds, under a mask", {"x": x, "memory": m, "mask": mask})
        for m in memories
    )
    moved = ~torch.isclose(before, after, rtol=1e-3, atol=1e-3)
    return (moved & (before + after).isfinite()).any(-1).sum()  # 0/0 is no leak


def _heads(
    scale: Callable[[int, int, int], float] = lambda m, d, h: d**-0.5,
    cut: Callable[[Tensor, int], Tensor] = lambda t, h: t.unflatten(-1, (h, -1)).transpose(-3, -2),
    join: Callable[[Tensor], Tensor] = lambda t: t.transpose(-3, -2).flatten(-2),
    weigh: Callable[[Tensor, Tensor | None], Tensor] = lambda s, mask: _hidden(s, mask).softmax(-1),
) -> Callable[[int, int, int, int], nn.Module]:
    """A layer with a part that can be exchanged."""

    class Heads(nn.Module):
        def __init__(self, d_model: int, d_memory: int, n_heads: int, d_head: int) -> None:
            super().__init__()
            self.n_heads, self.factor = n_heads, scale(d_model, d_head, n_heads)
            self.q_proj = nn.Linear(d_model, n_heads * d_head, bias=False)
            self.k_proj = nn.Linear(d_memory, n_heads * d_head, bias=False)
            self.v_proj = nn.Linear(d_memory, n_heads * d_head, bias=False)
            self.out_proj = nn.Linear(n_heads * d_head, d_model, bias=False)

        def forward(self, x: Tensor, memory: Tensor | None = None, mask: Tensor | None = None) -> Tensor:
            memory = x if memory is None else memory
            projected = self.q_proj(x), self.k_proj(memory), self.v_proj(memory)
            q, k, v = (cut(t, self.n_heads) for t in projected)
            return self.out_proj(join(weigh(q @ k.mT * self.factor, mask) @ v))

    def make(d_model: int, d_memory: int, n_heads: int, d_head: int) -> nn.Module:
        return Heads(d_model, d_memory, n_heads, d_head)

    return make


def _hidden(scores: Tensor, mask: Tensor | None) -> Tensor:
    return scores if mask is None else scores.masked_fill(~mask, -torch.inf)


def _after(s: Tensor, mask: Tensor | None) -> Tensor:
    return s.softmax(-1) if mask is None else s.softmax(-1) * mask


def _inverted(s: Tensor, mask: Tensor | None) -> Tensor:
    """A row that may look nowhere then looks nowhere."""
    return s.softmax(-1) if mask is None else s.masked_fill(mask, -1e30).softmax(-1) * ~mask


def _zeroed(s: Tensor, mask: Tensor | None) -> Tensor:
    return (s if mask is None else s.masked_fill(~mask, 0.0)).softmax(-1)


def _reference(d_model: int, d_memory: int, n_heads: int, d_head: int) -> dict[str, Any]:
    return use(_heads()(d_model, d_memory, n_heads, d_head))


exercise(
    "heads-layer",
    "Heads",
    reference=_reference,
    read=use,
    cases=rows("d_model d_memory n_heads d_head", *((*outer, *inner) for outer, inner in SIZES.items())),
    within=Tolerance(1e-5, 1e-4),
    stub="""class Heads(torch.nn.Module):
    def __init__(self, d_model, d_memory, n_heads, d_head):
        ...  # your code here

    def forward(self, x, memory=None, mask=None):
        ...  # and here""",
    mistakes=[
        mistake(
            "The scores are not scaled. Divide them by the root of d_head.", _heads(scale=lambda m, d, h: 1.0)
        ),
        mistake("It divides by d_head. Divide by its square root.", _heads(scale=lambda m, d, h: 1 / d)),
        mistake(
            "It divides by the root of d_model. A head's scores are sums over d_head products.",
            _heads(scale=lambda m, d, h: m**-0.5),
        ),
        mistake(
            "It divides by the root of the whole width. A head's scores are sums over d_head products.",
            _heads(scale=lambda m, d, h: (d * h) ** -0.5),
        ),
        mistake("The mask is not used.", _heads(weigh=lambda s, mask: s.softmax(-1))),
        *(
            mistake(
                "The mask is read the wrong way round. True is where a query may look.", _heads(weigh=weigh)
            )
            for weigh in (_inverted, lambda s, mask: _hidden(s, mask if mask is None else ~mask).softmax(-1))
        ),
        mistake(
            "Hidden scores are filled with a number that is not low enough: where those in view lie hundreds below 0, what is "
            "hidden still counts. Fill with −∞.",
            _heads(weigh=lambda s, mask: (s if mask is None else s.masked_fill(~mask, -50.0)).softmax(-1)),
        ),
        mistake(
            "The mask comes after the softmax, so rows no longer sum to 1. Fill the scores with −∞ before it.",
            _heads(weigh=_after),
        ),
        mistake("Where the mask is False the scores become 0. They should be −∞.", _heads(weigh=_zeroed)),
        mistake(
            "Heads and tokens are mixed on the way in: a reshape straight to (heads, n, d_head) fills them in the order "
            "of memory. Cut the last axis first, then swap two axes.",
            _heads(cut=lambda t, h: t.reshape(*t.shape[:-2], h, t.shape[-2], -1)),
        ),
        mistake(
            "A head should have neighbouring columns; here it got columns that lie n_heads apart. Unflatten to "
            "(n_heads, d_head), in this order.",
            _heads(cut=lambda t, h: t.unflatten(-1, (-1, h)).movedim(-1, -3)),
        ),
        mistake(
            "The heads are joined without moving them back: a row mixes several tokens. Swap the axes of heads and "
            "tokens first.",
            _heads(join=lambda t: t.reshape(*t.shape[:-3], t.shape[-2], -1)),
        ),
        mistake(
            "The heads are interleaved when they are joined, one number of each in turn. All of head 1 comes first.",
            _heads(join=lambda t: t.movedim(-3, -1).flatten(-2)),
        ),
        mistake(
            "The softmax runs down the columns. Each row belongs to one query: use dim=-1.",
            _heads(weigh=lambda s, mask: _hidden(s, mask).softmax(-2)),
        ),
        mistake("There is no softmax between the scores and the sum.", _heads(weigh=lambda s, mask: s)),
    ],
    praise="A layer of heads that asks itself or another text, under a mask for all or one for each head, in any batch.",
)
