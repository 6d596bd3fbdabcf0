"""The exercise on the arithmetic of a saturated softmax: one that holds in every precision."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attnbook.checks.exercise import case, draws, exercise, gradient, late, mistake, precisions, without


def softmax(scores: Tensor) -> Tensor:
    """The reference, and the frame of its mistakes."""
    return _softmax(lambda s: s.amax(-1, keepdim=True))(scores)


def _softmax(
    top: Callable[[Tensor], Tensor | float], exp: Callable[[Tensor], Tensor] = torch.exp, dim: Any = -1
) -> Callable:
    """A softmax that subtracts `top` of the scores, where that is finite."""

    def does(scores: Tensor) -> Tensor:
        peak = torch.as_tensor(top(scores), dtype=scores.dtype)
        e = exp(scores - peak.masked_fill(peak == -torch.inf, 0))
        total = e.sum(dim, keepdim=True)
        return e / total.masked_fill(total == 0, 1)

    return does


def _share(e: Tensor) -> Tensor:
    return e / e.sum(-1, keepdim=True)


def _safe(s: Tensor) -> Tensor:
    top = s.amax(-1, keepdim=True)
    return (s - top.masked_fill(top == -INF, 0)).exp()


def _nan_taken_out(scores: Tensor) -> Tensor:
    return _share((scores - scores.amax(-1, keepdim=True)).exp()).nan_to_num(0.0)


def _log_sum_exp(scores: Tensor) -> Tensor:
    top = scores.amax(-1, keepdim=True)
    top = top.masked_fill(top == -torch.inf, 0)
    lse = top + (scores - top).exp().sum(-1, keepdim=True).log()
    return (scores - lse.masked_fill(lse == -torch.inf, 0)).exp()


def _cut_at_one(scores: Tensor) -> Tensor:
    top = scores.detach().amax(-1, keepdim=True).clamp_min(torch.finfo(scores.dtype).min)
    e = (scores - top).exp()
    total = e.sum(-1, keepdim=True)
    return e / torch.where(total > 1, total, 1)


def _equal_shares(scores: Tensor) -> Tensor:
    floor = scores.clamp_min(torch.finfo(scores.dtype).min)
    return _share((floor - floor.amax(-1, keepdim=True)).exp())


def _clamped(low: float, high: float) -> Callable:
    return lambda scores: _softmax(lambda s: 0.0)(
        scores.clamp(low, high).where(scores > -torch.inf, -torch.inf)
    )


def _ends(dtype: torch.dtype) -> Tensor:
    most = torch.finfo(dtype).max
    return torch.tensor([[most, -most, 0.0], [-most, -most, -torch.inf], [most, most, -most]], dtype=dtype)


def _one_ahead(n: int) -> Tensor:
    return torch.tensor([11.0] + [5.0] * (n - 1), dtype=torch.float16)


INF = math.inf
OWN = "Each row needs its own largest score, not that of the whole tensor, nor the largest in size."

exercise(
    "saturation-stable-softmax",
    "softmax",
    reference=softmax,
    cases=[
        *draws(scores="... n", lead=[(), (2,), (3,), (2, 4)], seeds=5),
        case("the row 100, 99, 98", "exp(100) is infinite in fp32. Subtract the largest score first.", scores=torch.tensor([[100.0, 99.0, 98.0]])),
        case("the row −500, 500, 0", "Subtract the largest score, not the mean or the least.", scores=torch.tensor([[-500.0, 500.0, 0.0]])),
        case("a row at +300 and one at −300", OWN, scores=torch.tensor([[300.0, 299.0], [-300.0, -301.0]])),
        case("the row 50, −200", "It is changed by more than rounding. Subtract, do not clamp.", scores=torch.tensor([[50.0, -200.0]])),
        case("scores near −20000", "They differ by 5, however far below zero. Subtract, do not clamp.", scores=torch.tensor([-20000.0, -20005.0])),
        case("scores near 1000", "Take the largest score of the row away before exp, and divide by the sum after it.",
             scores=1000 + torch.randn(3, 17, generator=torch.Generator().manual_seed(0))),
        case("a score of −inf among others", "Its weight is 0, and the others share the rest.", scores=torch.tensor([[0.0, -INF, 1.0], [-INF, -INF, 700.0]])),
        case("a row of −inf beside another", "Nothing is allowed there, and −inf − (−inf) is not a number. Return zeros for that row alone.",
             scores=torch.tensor([[-INF, -INF], [1.0, 2.0]])),
        case("one row of −inf", "Nothing is allowed there. Return zeros.", scores=torch.full((4,), -INF)),
        case("thirty scores of 8 in fp16", "exp(8) is 2981, and thirty of them are more than fp16 can hold. Subtract the largest score first.",
             scores=torch.full((1, 30), 8.0, dtype=torch.float16)),
        *(
            case(f"the largest and the most negative number of {name}", "The weights there are exactly 1, ½ and 0. Subtract the largest score, and add nothing to the sum.", scores=_ends(getattr(torch, name)))
            for name in ("float16", "bfloat16", "float32", "float64")
        ),
        case("a thousand scores in fp64", "All of them belong to the sum, and a weight is a share of that.",
             scores=torch.randn(1000, generator=torch.Generator().manual_seed(1), dtype=torch.float64)),
        *late(case("a score of 11 and 999 of 5 in fp16", "The first weight is 1/(1 + 999/e⁶), the others are 1/e⁶ of it.", scores=_one_ahead(1000))),
    ],
    promises=[
        gradient("scores"),
        precisions("float64", "float16", "bfloat16"),
        without("It calls a softmax or a log-sum-exp of torch. Write your own, out of exp and a sum.",
              "_softmax", "_log_softmax", "_safe_softmax", "logsumexp", "_logsumexp", "logcumsumexp", "_logcumsumexp", "logaddexp"),
    ],
    mistakes=[
        mistake("exp overflows: exp(100) is infinite in fp32. Subtract the largest score first.", lambda s: _share(s.exp())),
        mistake("exp overflows: exp(100) is infinite in fp32. Subtract the largest score first.", lambda s: s.exp() / s.exp().sum(-1, keepdim=True).clamp_min(1e-9)),
        mistake("exp overflows: exp(100) is infinite in fp32. Subtract the largest score first.", _softmax(lambda s: 0.0)),
        mistake("It subtracts the mean. Rows that span far still overflow: subtract the largest score.", lambda s: _share((s - s.mean(-1, keepdim=True)).exp())),
        mistake("It subtracts the least score. Rows that span far still overflow: subtract the largest one.", lambda s: _share((s - s.amin(-1, keepdim=True)).exp())),
        mistake(OWN, lambda s: _share((s - s.max()).exp())),
        mistake(OWN, _softmax(lambda s: s.max())),
        mistake(OWN, lambda s: _share((s - s.abs().amax(-1, keepdim=True)).exp())),
        mistake("Subtract, do not clamp: clamped scores have lost their differences.", _clamped(-80, 80)),
        mistake("Subtract, do not clamp: clamped scores have lost their differences.", lambda s: softmax(s.clamp_min(-1e4).where(s > -INF, -INF))),
        mistake("The softmax runs along the first axis. Each row of the last axis must sum to 1.", lambda s: _softmax(lambda s: s.amax(0, keepdim=True), dim=0)(s)),
        mistake("The sum runs over the whole tensor. Each row of the last axis has a sum of its own.", lambda s: (s - s.max()).exp() / (s - s.max()).exp().sum()),
        mistake("Those are powers of two. The softmax has exp, with base e.", _softmax(lambda s: s.amax(-1, keepdim=True), torch.exp2)),
        mistake("A row of −inf gives NaN, since −inf − (−inf) is not a number. Nothing is allowed there: return zeros.",
                lambda s: _share((s - s.amax(-1, keepdim=True)).exp())),
        mistake("A row of −inf is shared out equally, as if all were allowed. Nothing is: return zeros.", _equal_shares),
        mistake("A row of −inf is shared out equally, as if all were allowed. Nothing is: return zeros.",
                lambda s: _share((s.clamp_min(-1e4) - s.clamp_min(-1e4).amax(-1, keepdim=True)).exp())),
        mistake("The values are right, but NaN is made on the way and taken out afterwards: the gradient keeps it. Let none arise.", _nan_taken_out),
        mistake("1e-9 is 0 in fp16, and a row of −inf divides 0 by it. Where the sum is 0, divide by 1.",
                lambda s: _safe(s) / (_safe(s).sum(-1, keepdim=True) + 1e-9)),
        mistake("1e-9 is 0 in fp16, and a row of −inf divides 0 by it. Where the sum is 0, divide by 1.",
                lambda s: _safe(s) / _safe(s).sum(-1, keepdim=True).clamp_min(1e-9)),
        mistake("A millionth is added to the sum, and every weight is a millionth too small, which fp64 shows. Replace a sum of 0 alone, with where.",
                lambda s: _safe(s) / (_safe(s).sum(-1, keepdim=True) + 1e-6)),
        mistake("The sum is cut at 1, and where it is 1, in a row that one score takes whole, a clamp may pass no gradient back. Replace a sum of 0 alone, with where.",
                _cut_at_one),
        mistake("It computes in single precision, which has half the digits of fp64 and ends at 3e38. Keep to the dtype of the scores.",
                lambda s: softmax(s.float()).to(s.dtype)),
        mistake("It returns single precision whatever comes in. Keep the dtype of the scores.", lambda s: softmax(s).float()),
        mistake("It puts the maximum back into ln of the sum and takes both off a score: large numbers that nearly cancel, and digits go. "
                "Divide by the sum instead.", _log_sum_exp),
        mistake("The values are right, but no gradient comes back: a model could not learn through it.", lambda s: softmax(s).detach()),
    ],
    praise="Right for every row tried, from the largest to the most negative number of each precision, with −inf, and with nothing allowed at all.",
)  # fmt: skip
