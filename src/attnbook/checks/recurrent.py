"""Exercises on attention beside a recurrent network: looking back, a window, alignments and what they leave out."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import date

import torch
from torch import Tensor

from attnbook.checks.exercise import case, draws, exercise, gradient, late, mistake, precisions
from attnbook.experiments import dates


def _normal(*shape: int, seed: int = 0, spread: float = 1.0) -> Tensor:
    return spread * torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def _masked(e: Tensor, real: Tensor) -> Tensor:
    return e.masked_fill(~real, float("-inf")).softmax(-1)


def _look(
    hidden: Callable = torch.tanh,
    weigh: Callable = _masked,
    scale: Callable = lambda a: 1.0,
    values: Callable = lambda h, keys: h,
) -> Callable:
    """Bahdanau's look back, with one thing wrong."""

    def look_back(s, h, real, w_a, u_a, v):
        keys = h @ u_a  # (..., n, a)
        scores = hidden((s @ w_a)[..., None, :] + keys) @ v * scale(v.shape[0])  # (..., n)
        return (weigh(scores, real)[..., None, :] @ values(h, keys))[..., 0, :]

    return look_back


def _real(s, generator: torch.Generator) -> Tensor:
    """Texts of different lengths, padded at their ends; of four or more tokens none fills its row."""
    longest = s.n - 1 if s.n > 3 else s.n
    lengths = torch.randint(1, longest + 1, (*s.lead, 1), generator=generator)
    return torch.arange(s.n) < lengths


_FAR = dict(
    s=_normal(3),
    h=_normal(6, 4, seed=1),
    real=torch.ones(6, dtype=torch.bool),
    w_a=_normal(3, 5, seed=2),
    u_a=_normal(4, 5, seed=3),
)


def _loud_padding(counts: float = 50.0, tokens: int = 4) -> dict:
    """One hidden unit is -1 for every token of the text and 1 for the padding, and `counts`."""
    h, real = _normal(6, 4, seed=8), torch.arange(6) < tokens
    w_a, u_a, v = _normal(3, 5, seed=2), _normal(4, 5, seed=3), _normal(5, seed=4)
    h[:, 0] = torch.where(real, -1.0, 1.0)
    w_a[:, 0], u_a[:, 0], v[0] = 0, torch.tensor([20.0, 0, 0, 0]), counts
    return {"s": _normal(3), "h": h, "real": real, "w_a": w_a, "u_a": u_a, "v": v}


exercise(
    "recurrent-look-back",
    "look_back",
    reference=_look(),
    cases=[
        *draws(s="... d", h="... n m", real=_real, w_a="d a", u_a="m a", v="a", lead=[(), (2,), (3,), (2, 4)], seeds=8),
        case("scores of several hundreds", "Every exponential must stay finite.", **_FAR, v=_normal(5, seed=4, spread=300.0)),
        case("one token in the text", "It gets all the weight.",
             **_FAR | {"h": _normal(1, 4, seed=6), "real": torch.tensor([True])}, v=_normal(5, seed=4)),
        case("tokens that are all alike", "They share the weight; their mean is each of them.",
             **_FAR | {"h": _normal(1, 4, seed=7).expand(6, 4).clone()}, v=_normal(5, seed=4)),
        case("a text that fills its row", **_FAR, v=_normal(5, seed=5)),
        case("padding that would score far higher than the text", "What is padded gets nothing, whatever its score, and takes nothing away.",
             **_loud_padding()),
        case("a text of one token that scores very low", "A low number for the padding is not low enough for every text: −∞ is.",
             **_loud_padding(40_000.0, tokens=1)),
        *late(case("another state, in a text that fills its row", **_FAR | {"s": _normal(3, seed=9), "w_a": _normal(3, 5, seed=10)}, v=_normal(5, seed=5))),
    ],
    promises=[gradient("s", "h", "w_a", "u_a", "v"), precisions("float64")],
    mistakes=[
        mistake("The padding is not left out. Where `real` is False, a token must get no weight.", _look(weigh=lambda e, real: e.softmax(-1))),
        mistake("The padding is cut after the softmax. By then it has taken weight away from the tokens: give it a score of −∞ before.",
                _look(weigh=lambda e, real: e.softmax(-1) * real)),
        mistake("The padding gets a score of 0, and e⁰ = 1 is a weight like another. Give it −∞.",
                _look(weigh=lambda e, real: (e * real).softmax(-1))),
        mistake("The padding gets all the weight, and the text none: True in `real` means that the token exists.",
                _look(weigh=lambda e, real: _masked(e, ~real))),
        mistake("The tanh is missing. Without it what s adds is the same for every token, and falls out of the softmax: "
                "it does not matter who asks.", _look(hidden=lambda x: x)),
        mistake("Here a ReLU stands where the tanh should be.", _look(hidden=torch.relu)),
        mistake("Here a sigmoid stands where the tanh should be.", _look(hidden=torch.sigmoid)),
        mistake("The scores are used as weights. Let them go through a softmax over the tokens.", _look(weigh=lambda e, real: e * real)),
        mistake("The weights are not divided by their sum. Use a softmax over the tokens.", _look(weigh=lambda e, real: e.exp() * real)),
        mistake("All of the weight goes to the best token. A softmax shares it out.",
                _look(weigh=lambda e, real: torch.nn.functional.one_hot(_masked(e, real).argmax(-1), e.shape[-1]).to(e.dtype))),
        mistake("The softmax runs along the first axis. In a batch those are the texts: let it run over the tokens, along the last.",
                _look(weigh=lambda e, real: e.masked_fill(~real, float("-inf")).softmax(0))),
        mistake("One state asks for the whole batch: the first. Each text is asked by its own.",
                lambda s, *rest: _look()(s.reshape(-1, s.shape[-1])[0].expand_as(s), *rest)),
        mistake("One text's padding is used for the whole batch: the first. Each text has its own length.",
                lambda s, h, real, *w: _look()(s, h, real.reshape(-1, real.shape[-1])[0].expand_as(real), *w)),
        mistake("Every token gets the same weight.", _look(weigh=lambda e, real: _masked(torch.zeros_like(e), real))),
        mistake("The scores are divided by the root of their width. That is the later, scaled dot product; this score has no divisor.",
                _look(scale=lambda a: a**-0.5)),
        mistake("What is averaged are the h U_a. They only serve the scores; the context is a mean of the h themselves.",
                _look(values=lambda h, keys: keys)),
        mistake("The state makes no difference: what it adds is the same for every token, and falls out of the softmax. "
                "Add s W_a and h U_a first, then take the tanh.",
                lambda s, h, real, w_a, u_a, v: (_masked(((s @ w_a).tanh()[..., None, :] + (h @ u_a).tanh()) @ v, real)[..., None, :] @ h)[..., 0, :]),
        mistake("The weights are returned. Return what they bring: the mean of the h, weighted by them.",
                lambda s, h, real, w_a, u_a, v: _masked(((s @ w_a)[..., None, :] + h @ u_a).tanh() @ v, real)),
        mistake("The scores are returned. Softmax them, and take the mean of the h, weighted by it.",
                lambda s, h, real, w_a, u_a, v: ((s @ w_a)[..., None, :] + h @ u_a).tanh() @ v),
    ],
    praise="The state asks through a small network, softmax shares one look out over the tokens, none over the padding, and their mean comes back.",
)  # fmt: skip


def _window(
    first: int = 1,
    spread: Callable = lambda radius: radius / 2,
    inside: bool = True,
    bell: bool = True,
    again: bool = False,
    late: bool = False,
    strict: bool = False,
) -> Callable:
    """Luong's window, with one thing wrong."""

    def local_weights(scores, p, radius):
        away = torch.arange(first, first + scores.shape[-1], dtype=scores.dtype) - p
        near = (away.abs() < radius if strict else away.abs() <= radius) if inside else away.abs() >= 0
        weights = (scores if late else scores.masked_fill(~near, float("-inf"))).softmax(-1) * near
        if bell:
            weights = weights * (-away.square() / (2 * spread(radius) ** 2)).exp()
        return weights / weights.sum(-1, keepdim=True) if again else weights

    return local_weights


def _place(s, generator: torch.Generator) -> Tensor:
    """A place that lies between two tokens, and not too near to either."""
    whole = torch.randint(0, s.n, (*s.lead, 1), generator=generator)
    return whole + 0.2 + 0.6 * torch.rand(*s.lead, 1, generator=generator)


exercise(
    "recurrent-local-window",
    "local_weights",
    reference=_window(),
    cases=[
        *draws(n=..., scores="... n", p=_place, radius=lambda s, _: (2, 1, 4, 3)[s.n % 4], lead=[(), (2,), (3,), (2, 4)], seeds=8),
        case("a place on a token", "The first and the last token of the window count.",
             scores=_normal(9), p=torch.tensor([4.0]), radius=2),
        case("a place at the very end", scores=_normal(7, seed=1), p=torch.tensor([7.0]), radius=3),
        case("a window wider than the text", "Then all tokens are in it, and the bell still bends their weights.",
             scores=_normal(4, seed=2), p=torch.tensor([2.3]), radius=10),
        case("equal scores", "Within the window softmax makes them alike; what then differs is the bell.",
             scores=torch.zeros(8), p=torch.tensor([4.4]), radius=3),
        case("scores of several hundreds", "Every exponential must stay finite.",
             scores=_normal(9, seed=3, spread=300.0), p=torch.tensor([5.3]), radius=3),
        case("by far the best scores outside the window", "What lies outside gets nothing, whatever its score, and takes nothing away.",
             scores=torch.tensor([200.0, -301.0, -300.0, -299.0, -302.0, 200.0, 300.0]), p=torch.tensor([3.4]), radius=2),
        case("a window of one token with a very low score", "A low number outside is not low enough for every text: −∞ is.",
             scores=torch.tensor([-40000.0, 0, 1, 2]), p=torch.tensor([0.8]), radius=1),
        *late(case("a window of 91 tokens", scores=_normal(130, seed=5), p=torch.tensor([61.3]), radius=45)),
    ],
    promises=[gradient("scores", "p"), precisions("float64")],
    mistakes=[
        mistake("The tokens are counted from 0. Here the first one stands at place 1.", _window(first=0)),
        mistake("The bell is as wide as the window: σ should be half of the radius.", _window(spread=lambda r: r)),
        mistake("The bell is too narrow: σ should be half of the radius, and it is divided by 2σ².", _window(spread=lambda r: r / 4)),
        mistake("The bell lacks its 2: it divides by 2σ².", _window(spread=lambda r: r / 2 / 2**0.5)),
        mistake("There is no window: tokens further away than the radius must get nothing.", _window(inside=False)),
        mistake("There is no bell. Multiply by exp(−(place − p)² / (2σ²)).", _window(bell=False)),
        mistake("The weights are divided by their sum after the bell. The paper doesn't do that: a window whose centre lies "
                "between good tokens may say less.", _window(again=True)),
        mistake("The softmax runs over the whole text, and the window cuts afterwards. Then tokens outside it have taken "
                "weight away: mask first.", _window(late=True)),
        mistake("The tokens at exactly the radius are left out. They belong to the window.", _window(strict=True)),
        mistake("One place is used for the whole batch: the first. Each row has its own.",
                lambda scores, p, radius: _window()(scores, p.flatten()[0].expand_as(p), radius)),
        mistake("It is the bell alone: the scores are not used.",
                lambda scores, p, radius: _window()(torch.zeros_like(scores), p, radius)),
    ],
    praise="Softmax within the window, the bell around its centre, and nothing outside.",
)  # fmt: skip


def share(weights, made, *, over: Callable = lambda found, made: len(found)):
    """Return the mean over the characters that were made from something: the reference, and its slips."""
    found = [row[list(places)].sum() for row, places in zip(weights, made, strict=True) if places]
    return float(sum(found) / over(found, made))


def _rows(m: int, n: int, seed: int) -> Tensor:
    return _normal(m, n, seed=seed, spread=2.0).softmax(-1)


def _written(form: str, day: date, seed: int) -> dict:
    pair = dates.write(day, form)
    return {"weights": _rows(len(pair.iso), len(pair.text), seed), "made": pair.made}


(_TWO,) = dates.draw(1, 2, random.Random(0))

exercise(
    "recurrent-alignment",
    "alignment_share",
    reference=lambda weights, made: share(weights, made),
    cases=[
        case("the alignment of 3 may 1984", **_written("3 may 1984", date(1984, 5, 3), 1)),
        case("the alignment of 10/21/2007", **_written("5/3/1984", date(2007, 10, 21), 2)),
        case("the alignment of the twenty-first of october, 1999", **_written("the third of may, 1984", date(1999, 10, 21), 3)),
        case("the alignment of 3.5.84", **_written("3.5.84", date(1984, 5, 3), 4)),
        case("the alignment of a text of two dates", weights=_rows(21, len(_TWO.text), 7), made=_TWO.made),
        case("two characters that were made from nothing, and one that was made from two", "What was made from nothing does not count.",
             weights=_rows(3, 5, 5), made=((), (1, 3), ())),
        case("a character made from all of the text", "Whatever the weights are, all of them are right.", weights=_rows(2, 4, 6), made=((0, 1, 2, 3), ())),
        case("weights that are all in the right place", weights=torch.eye(4)[[2, 0, 1]], made=((2,), (0,), (1, 3))),
        case("weights that are all in the wrong place", weights=torch.eye(4)[[2, 0, 1]], made=((0, 1), (3,), ())),
        *late(
            case("the alignment of 3 may 1984, with other weights", **_written("3 may 1984", date(1984, 5, 3), 11)),
            case("weights that are in the right place, but for one", weights=torch.eye(4)[[2, 0, 1]], made=((2,), (3,), (1, 0))),
            case("45 characters made from 60", weights=_rows(45, 60, 8), made=(*(tuple(range(i, i + i % 4)) for i in range(44)), tuple(range(9, 54)))),
        ),
    ],
    mistakes=[
        mistake("It divides by all characters. Those that were made from nothing have no right place: divide by the others.",
                lambda weights, made: share(weights, made, over=lambda _, all_of_them: len(all_of_them))),
        mistake("It is a sum. Divide by the number of characters that were made from something.",
                lambda weights, made: share(weights, made, over=lambda *_: 1)),
        mistake("It is a sum over the number of places. A character that was made from two places is one character.",
                lambda weights, made: share(weights, made, over=lambda _, m: sum(map(len, m)))),
        mistake("It asks whether the largest weight is in the right place. Add up the weights that are.",
                lambda weights, made: sum(float(row.argmax() in places) for row, places in zip(weights, made, strict=True)) / sum(map(bool, made))),
        mistake("Of several right places only the first counts. Add up the weights of all.",
                lambda weights, made: share(weights, [places[:1] for places in made])),
        mistake("Of several right places only the best counts. Add up the weights of all.",
                lambda weights, made: float(sum(row[list(p)].max() for row, p in zip(weights, made, strict=True) if p) / sum(map(bool, made)))),
        mistake("The weights of several right places are averaged. Add them up.",
                lambda weights, made: float(sum(row[list(p)].mean() for row, p in zip(weights, made, strict=True) if p) / sum(map(bool, made)))),
    ],
    praise="Each character that was made from something counts once, by all the weight that lies where it was made.",
)  # fmt: skip


def _covered(cap: Callable = lambda c: c.clamp(max=1), log: Callable = torch.log, dim: int = -2, end: Callable = lambda x: x.sum()) -> Callable:  # fmt: skip
    def coverage_penalty(weights):
        return float(end(log(cap(weights.sum(dim)))))

    return coverage_penalty


def _matrix(m: int, n: int, seed: int) -> Tensor:
    return _rows(m, n, seed)


_SKIPPED = torch.full((3, 4), 0.001)
_SKIPPED[:, :3] = torch.eye(3) * 0.997 + 0.001
_LATE = torch.eye(4)[[0, 1, 2] * 4]
_LATE[-1] = 0.25
_NEXT_TO_NOTHING = torch.tensor([[0.5, 0.5 - 1e-7, 1e-7], [0.25, 0.75 - 1e-7, 1e-7]])

exercise(
    "recurrent-coverage",
    "coverage_penalty",
    reference=_covered(),
    cases=[
        *(case(f"{m} steps over {n} tokens", weights=_matrix(m, n, m)) for m, n in ((5, 3), (3, 7), (2, 9), (11, 4), (1, 6), (8, 5))),
        case("every token covered exactly once", "Then nothing is left out: the penalty is 0.", weights=torch.eye(4)[[2, 0, 3, 1]]),
        case("every token covered twice", "Looking twice is no better than once: the penalty is 0.", weights=torch.eye(3).repeat(2, 1)),
        case("one token that nobody looked at much", weights=_SKIPPED),
        case("a token that only the last of 12 steps looked at", weights=_LATE),
        case("one token that got next to nothing", "Then the penalty is large: no smallest share is assumed.", weights=_NEXT_TO_NOTHING),
        case("one token that got far less than that", "Then the penalty is larger still: no smallest share is assumed.",
             weights=torch.tensor([[0.5, 0.5, 1e-30], [0.25, 0.75, 1e-30]])),
        case("4 steps over 60 tokens", "A product of all shares is too small for a float; a sum of logarithms is not.", weights=_matrix(4, 60, 7)),
        *late(case("5 other steps over 3 tokens", weights=_matrix(5, 3, 14)), case("45 steps over 6 tokens", weights=_matrix(45, 6, 9) / 30)),
    ],
    mistakes=[
        mistake("There is no cap. A token that was looked at twice must not make up for one that was left out: at most 1 counts.",
                _covered(cap=lambda c: c)),
        mistake("The sums run over the tokens, where they are 1 by definition. Add up what each token got over all steps.", _covered(dim=-1)),
        mistake("The sign is turned: the penalty is negative, and 0 at best.", _covered(end=lambda x: -x.sum())),
        mistake("It is a mean. Add up over the tokens.", _covered(end=lambda x: x.mean())),
        mistake("The logarithm is missing.", _covered(log=lambda x: x)),
        mistake("It is the logarithm of the sum. Take the logarithm of each token's share first.",
                lambda weights: float(weights.sum(-2).clamp(max=1).sum().log())),
        mistake("Each weight has its logarithm taken. Add up over the steps first.", lambda weights: float(weights.log().sum())),
        mistake("The logarithm has the base 2. Take the natural one.", _covered(log=torch.log2)),
    ],
    praise="A token that is left out costs, and looking elsewhere twice does not make up for it.",
)  # fmt: skip
