"""Exercises on attention on many devices: partial results that are merged, and the way back through a merge."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from attnbook.checks.exercise import BY_HAND, Mistake, case, draws, exercise, gradient, mistake, precisions
from attnbook.checks.sparse import in_each_way


class Merged(NamedTuple):
    """What all parts find together."""

    output: Any
    lse: Any


class Slopes(NamedTuple):
    """What a merge passes back to its parts."""

    gradient_of_outs: Any
    gradient_of_lses: Any


def _emptied(outs: Tensor, lses: Tensor) -> Tensor:
    """The outputs, zeros where the part saw no key."""
    return outs.masked_fill((lses == -math.inf)[..., None], 0.0)


def _weights(lses: Tensor) -> Tensor:
    """What each part counts for, (parts, n); zeros where no part saw a key."""
    empty = lses == -math.inf
    return lses.masked_fill(empty.all(0), 0.0).softmax(0).masked_fill(empty, 0.0)


def _whole(lses: Tensor) -> Tensor:
    nothing = (lses == -math.inf).all(0)
    return lses.masked_fill(nothing, 0.0).logsumexp(0).masked_fill(nothing, -math.inf)


def _merge(
    weigh: Callable[[Tensor], Tensor] = _weights,
    whole: Callable[[Tensor], Tensor] = _whole,
    clean: Callable[[Tensor, Tensor], Tensor] = _emptied,
) -> Callable:
    """A merge, with one part exchanged."""

    def answer(outs: Tensor, lses: Tensor) -> Merged:
        return Merged((weigh(lses)[..., None] * clean(outs, lses)).sum(0), whole(lses))

    return answer


def merge(outs: Tensor, lses: Tensor) -> Merged:
    """The reference."""
    return _merge()(outs, lses)


def _shares(z: Tensor) -> Tensor:
    return z / z.sum(0)


def _below_the_largest(lses: Tensor) -> Tensor:
    return _shares((lses - lses.max()).exp())


def _unsafe(outs: Tensor, lses: Tensor) -> Merged:
    return _merge(lambda lses: _shares(lses.exp()), lambda lses: lses.exp().sum(0).log())(outs, lses)


def _all_below_the_largest(outs: Tensor, lses: Tensor) -> Merged:
    top = lses.max()
    return _merge(_below_the_largest, lambda lses: top + (lses - top).exp().sum(0).log())(outs, lses)


def _as_zero(outs: Tensor, lses: Tensor) -> Merged:
    return _merge(clean=lambda outs, _: outs.nan_to_num())(outs, lses.masked_fill(lses == -math.inf, 0.0))


def _never_nothing(outs: Tensor, lses: Tensor) -> Merged:
    found = merge(outs, lses)
    return Merged(found.output, found.lse.masked_fill(found.lse == -math.inf, 0.0))


def _with_last_lse(outs: Tensor, lses: Tensor) -> Merged:
    out, lse = outs[0], lses[0]
    for one, its in zip(outs[1:], lses[1:], strict=True):
        out, total = merge(torch.stack((out, one)), torch.stack((lse, its)))
        lse = its
    return Merged(out, total if len(outs) > 1 else lse)


def _either(message: str, weigh: Callable[[Tensor], Tensor]) -> list[Mistake]:
    """Wrong weights, of outputs whose empty parts are filled with zeros or left as they are; or no care at all."""
    plain: dict[str, Callable] = {"clean": lambda outs, _: outs}
    return in_each_way(
        message,
        _merge(weigh),
        _merge(weigh, **plain),
        _merge(weigh, lambda lses: lses.logsumexp(0), **plain),
    )


def _normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def _hole(outs: Tensor, lses: Tensor, *places: tuple, inside: float = 0.0) -> dict[str, Tensor]:
    """Make parts empty, all or at one query: (part,) or (part, query)."""
    for place in places:
        outs[place], lses[place] = inside, -math.inf
    return {"outs": outs, "lses": lses}


def _apart(*high: float, parts: int = 3) -> dict[str, Tensor]:
    """Queries whose lses lie around given numbers; quarters, so that differences are exact."""
    lses = (4 * _normal(parts, len(high), seed=21)).round() / 4 + torch.tensor(high)
    return {"outs": _normal(parts, len(high), 3, seed=20).clamp(-1, 1), "lses": lses}


def _parts(parts: int, n: int, d: int, seed: int) -> tuple[Tensor, Tensor]:
    return _normal(parts, n, d, seed=seed), _normal(parts, n, seed=seed + 1)


EMPTY = [
    ("an empty part", "Its lse is −∞, and it counts for nothing.", _hole(*_parts(3, 5, 2, 1), (1,))),
    ("two empty parts of four", "", _hole(*_parts(4, 3, 2, 15), (0,), (3,))),
    ("parts that are empty for some queries", "", _hole(*_parts(3, 4, 3, 3), (0, 0), (1, 2), (2, 2))),
    ("an empty part that holds NaN", "0 · NaN is NaN: what an empty part holds must not be multiplied.", _hole(*_parts(3, 5, 4, 5), (2,), inside=math.nan)),
    ("an empty part that holds ∞", "0 · ∞ is NaN, too: fill over all that an empty part holds.", _hole(*_parts(3, 5, 4, 17), (1,), inside=math.inf)),
    ("a query without a key in any part", "Its output is 0, and −∞ − (−∞) is NaN.", _hole(*_parts(2, 4, 3, 7), (0, 1), (1, 1))),
    ("no part has a key", "", _hole(*_parts(3, 2, 4, 9), (0,), (1,), (2,), inside=math.nan)),
]  # fmt: skip
FAR = [
    ("lses of about 95", "Their exponentials are larger than any number of single precision: take off the largest first.", _apart(95.0, 95.0)),
    ("lses of about −110", "Their exponentials are 0 in single precision: take off the largest first.", _apart(-110.0, -110.0)),
    # Parts so far apart that an lse is exactly its largest: at that height single precision would round it by much.
    ("lses of about 2,000 and −2,000", "In double precision, too, their exponentials are infinite, or 0: take off the largest of each query first.",
     {"outs": _normal(3, 2, 3, seed=22).clamp(-1, 1), "lses": torch.tensor([[2000.0, -2050.0], [2050.0, -1950.0], [1950.0, -2000.0]])}),
    ("lses of about −100,000", "Take off the largest of each query; no bound that you set yourself is low enough.",
     {"outs": _normal(3, 2, 3, seed=23).clamp(-1, 1), "lses": torch.tensor([[-1e5, -1e5 - 64], [-1e5 - 64, -1e5 - 128], [-1e5 - 128, -1e5]])}),
    ("queries whose lses lie 120 apart", "Each query has a largest lse of its own.", _apart(60.0, -60.0)),
    ("an empty part beside lses of about −100,000", "An empty part lies below every other: no number of your own can stand for −∞.",
     {"outs": _normal(3, 3, 2, seed=24).clamp(-1, 1), "lses": torch.tensor([[-1e5, -math.inf, -math.inf], [-math.inf, -1e5 - 64, -math.inf], [-1e5 - 64, -1e5, -1e5]])}),
]  # fmt: skip

exercise(
    "devices-merge",
    "merge",
    reference=merge,
    cases=[
        case("two parts of one query that saw as many keys", "Then they count alike.", outs=torch.tensor([[[3.0, 0.0]], [[7.0, 2.0]]]), lses=torch.zeros(2, 1)),
        *draws(outs="p n d", lses="p n", n=..., seeds=5),
        case("as many parts as queries", "The first axis is that of the parts.", outs=_normal(4, 4, 3, seed=11), lses=_normal(4, 4, seed=12)),
        case("one part", "It is all there is.", outs=_normal(1, 4, 3, seed=13), lses=_normal(1, 4, seed=14)),
        *(case(name, hint, **given) for name, hint, given in (*EMPTY, *FAR)),
    ],
    promises=[gradient("outs", "lses"), precisions("float64")],
    mistakes=[
        *_either("All parts count alike. One that saw more counts for more: weigh it by exp(lse).", lambda lses: torch.ones_like(lses) / len(lses)),
        *_either("The outputs are added up. They are means already: weigh them, with weights that sum to 1.", torch.ones_like),
        mistake("The weights are the lses themselves, divided by their sum. An lse is a logarithm: take its exponential.",
                _merge(lambda lses: (lambda x: x / x.sum(0))(lses.masked_fill(lses == -math.inf, 0.0)))),
        *_either("The outputs are weighed by exp(lse) and not divided by the sum of all exp(lse).", torch.exp),
        mistake("The weights run over the queries. For each query, the weights of all parts sum to 1: dim 0.", _merge(lambda lses: lses.softmax(-1))),
        mistake("The larger of the lses decides alone. All parts count.", _merge(lambda lses: (lses == lses.amax(0)).to(lses) / (lses == lses.amax(0)).sum(0))),
        mistake("Only the first two parts are merged.", lambda outs, lses: merge(outs[:2], lses[:2])),
        mistake("Each part is merged with what was found before, but with the lse of the last part alone. What was found before has an lse, too: of all parts so far.", _with_last_lse),
        mistake("The lses are added up. An lse is a logarithm: the sum is one of exponentials.", _merge(whole=lambda lses: lses.sum(0))),
        *in_each_way("The lse is the largest of the lses. It is the logarithm of a sum of exponentials, which is more.",
                     _merge(whole=lambda lses: lses.amax(0)), _merge(whole=lambda lses: lses.max(0).values)),
        mistake("The second result is the sum of exponentials. Return its logarithm.", _merge(whole=lambda lses: lses.exp().sum(0))),
        mistake("The lse is that of a mean of exponentials. Keys of all parts add up.", _merge(whole=lambda lses: _whole(lses) - math.log(len(lses)))),
        mistake("An empty part counts as one with the lse 0. Its exp(lse) is 0.", _as_zero),
        mistake("What an empty part holds goes through: NaN times the weight 0 is NaN. Fill it over with 0 before you multiply.", _merge(clean=lambda outs, _: outs)),
        mistake("Nothing is done about empty parts. NaN times the weight 0 is NaN, and where no part has a key, so is the softmax.",
                _merge(lambda lses: lses.softmax(0), lambda lses: lses.logsumexp(0), lambda outs, _: outs)),
        mistake("Where no part has a key, −∞ − (−∞) makes NaN. Such a query gets zeros and the lse −∞.",
                _merge(lambda lses: lses.softmax(0), lambda lses: (lambda top: top + (lses - top).exp().sum(0).log())(lses.amax(0)))),
        mistake("Where no part has a key, the lse is 0. It is −∞, or the next merge would count it.", _never_nothing),
        mistake("exp(lse) is made before anything is taken off: it overflows, or is 0 in all parts. Take off the largest lse of the query first.", _unsafe),
        mistake("The largest of all lses is taken off, and where a query lies far below it, 0 is divided by 0. Take off the largest of each query.", _all_below_the_largest),
        mistake("The lse comes first. Return the output, then the lse.", lambda outs, lses: Merged(*reversed(merge(outs, lses)))),
    ],
    praise="Any number of parts, empty ones among them, lses far from 0, and queries that no part has a key for.",
)  # fmt: skip


def _back(
    through_out: Callable[[Tensor, Tensor, Tensor], Tensor] = lambda outs, out, d_out: ((outs - out) * d_out).sum(-1),
    weigh: Callable[[Tensor], Tensor] = _weights,
    to_outs: Callable[[Tensor, Tensor], Tensor] = lambda w, d_out: w[..., None] * d_out,
    to_lses: Callable[[Tensor, Tensor, Tensor], Tensor] = lambda w, dot, d_lse: w * (dot + d_lse),
    clean: Callable[[Tensor, Tensor], Tensor] = _emptied,
) -> Callable:  # fmt: skip
    """The way back through a merge, with one part exchanged."""

    def answer(outs: Tensor, lses: Tensor, d_out: Tensor, d_lse: Tensor) -> Slopes:
        w, outs = weigh(lses), clean(outs, lses)
        out = (w[..., None] * outs).sum(0)
        return Slopes(to_outs(w, d_out), to_lses(w, through_out(outs, out, d_out), d_lse))

    return answer


def merge_backward(outs: Tensor, lses: Tensor, d_out: Tensor, d_lse: Tensor) -> Slopes:
    """The reference."""
    return _back()(outs, lses, d_out, d_lse)


def _filled(lses: Tensor) -> Tensor:
    """As of parts that are alike where no part has a key."""
    return lses.masked_fill((lses == -math.inf).all(0), 0.0).softmax(0)


def _with_slopes(outs: Tensor, lses: Tensor) -> dict[str, Tensor]:
    parts, n, d = outs.shape
    return {"outs": outs, "lses": lses, "d_out": _normal(n, d, seed=parts + n), "d_lse": _normal(n, seed=n)}


exercise(
    "devices-merge-backward",
    "merge_backward",
    reference=merge_backward,
    cases=[
        case("two parts of one query that saw as many keys", "Each counts for a half.", outs=torch.tensor([[[3.0, 0.0]], [[7.0, 2.0]]]),
             lses=torch.zeros(2, 1), d_out=torch.tensor([[1.0, -1.0]]), d_lse=torch.tensor([0.5])),
        *draws(outs="p n d", lses="p n", d_out="n d", d_lse="n", n=..., seeds=5),
        case("as many parts as queries, and as wide", "The first axis is that of the parts.", **_with_slopes(_normal(4, 4, 4, seed=11), _normal(4, 4, seed=12))),
        case("one part", "The merge changes nothing, and passes back what comes.", **_with_slopes(_normal(1, 4, 3, seed=13), _normal(1, 4, seed=14))),
        *(case(name, hint, **_with_slopes(**given)) for name, hint, given in (*EMPTY, *FAR)),
    ],
    promises=[
        precisions("float64"),
        BY_HAND,
    ],
    mistakes=[
        mistake("Every part gets all of the output's gradient. It gets what it counts for: times its weight.", _back(to_outs=lambda w, d_out: d_out.expand(len(w), *d_out.shape).clone())),
        mistake("The merged output is not subtracted: an lse that grows takes weight from all other parts. It is out_S − out.", _back(lambda outs, out, d_out: (outs * d_out).sum(-1))),
        mistake("The plain mean of the outputs is subtracted. What is subtracted is the merged output: the mean with the weights.",
                _back(lambda outs, out, d_out: ((outs - outs.mean(0)) * d_out).sum(-1))),
        mistake("The sign is wrong: a part whose output fits the gradient better than the merged one gets a positive slope. It is out_S − out.",
                _back(lambda outs, out, d_out: ((out - outs) * d_out).sum(-1))),
        mistake("The weights count as constants. They depend on the lses: the output's gradient reaches the lses through them.",
                _back(lambda outs, out, d_out: torch.zeros_like(outs[..., 0]))),
        mistake("The gradient of the merged lse is not used. It reaches every lse, times the weight of the part.", _back(to_lses=lambda w, dot, d_lse: w * dot)),
        mistake("The gradient of the merged lse reaches every part whole. It gets what it counts for: times its weight.", _back(to_lses=lambda w, dot, d_lse: w * dot + d_lse)),
        mistake("The weight is missing from the gradient of the lses.", _back(to_lses=lambda w, dot, d_lse: dot + d_lse)),
        mistake("Half of it is missing: the weight of a part multiplies all that reaches its lse, what comes through the output, too.", _back(to_lses=lambda w, dot, d_lse: dot + w * d_lse)),
        mistake("Over the entries of the output a mean is taken. Their products add up.", _back(lambda outs, out, d_out: ((outs - out) * d_out).mean(-1))),
        mistake("The weights run over the queries. For each query, the weights of all parts sum to 1: dim 0.", _back(weigh=lambda lses: lses.softmax(-1))),
        mistake("All parts count alike. One that saw more counts for more: its weight is exp(lse) by the sum of all exp(lse).", _back(weigh=lambda lses: torch.ones_like(lses) / len(lses))),
        mistake("exp(lse) is made before anything is taken off: it overflows, or is 0 in all parts. Take off the largest lse of the query first.", _back(weigh=lambda lses: _shares(lses.exp()))),
        mistake("What an empty part holds goes through: NaN times the weight 0 is NaN. Fill it over with 0 before you multiply.", _back(clean=lambda outs, _: outs)),
        mistake("Nothing is done about empty parts. NaN times the weight 0 is NaN, and where no part has a key, so is the softmax.",
                _back(weigh=lambda lses: lses.softmax(0), clean=lambda outs, _: outs)),
        mistake("Where no part has a key, −∞ − (−∞) makes NaN. Nothing is passed back there: zeros.", _back(weigh=lambda lses: lses.softmax(0))),
        mistake("Where no part has a key, gradients reach the parts all the same. There is nothing to pass back to: zeros.", _back(weigh=_filled)),
        mistake("The gradient of the lses comes first. Return that of the outputs, then that of the lses.", lambda *given: Slopes(*reversed(merge_backward(*given)))),
    ],
    praise="What reaches each part's output and each part's lse, empty parts and lses far from 0 included, without autograd.",
)  # fmt: skip
