"""Exercises on attention in today's models: whom an indexer chooses, and one step of a gated state."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from attnbook.checks.exercise import Case, case, draws, exercise, gradient, late, mistake, precisions
from attnbook.checks.values import Tolerance


def _scores(
    q: Tensor,
    k: Tensor,
    w: Tensor,
    *,
    cut: Callable[[Tensor], Tensor] = torch.relu,
    join: Callable[[Tensor, Tensor], Tensor] = lambda heads, w: (w.mT[..., None] * heads).sum(0),
) -> Tensor:
    """The sum over heads of w · relu(q · k), (n, n), with parts that can be exchanged."""
    return join(cut(q @ k.mT), w)


def _best(
    scores: Tensor,
    top: int,
    *,
    may: Callable[[Tensor], Tensor] = lambda past: past,
    shown: Callable[[Tensor], Tensor] = lambda past: past,
    worst: bool = False,
    last: bool = False,
) -> Tensor:
    """Choose the best of those that `may` be chosen, and hide all but those that are `shown`."""
    past = torch.ones_like(scores, dtype=torch.bool).tril()
    scores = (-scores if worst else scores).masked_fill(~may(past), -math.inf)
    if last:  # of equal scores the later key
        scores = scores.flip(-1)
    order = scores.sort(dim=-1, descending=True, stable=True).indices[..., : max(top, 0)]
    chosen = torch.zeros_like(past).scatter(-1, order, torch.ones_like(order, dtype=torch.bool))
    return (chosen.flip(-1) if last else chosen) & shown(past)


def index_mask(q: Tensor, k: Tensor, w: Tensor, top: int) -> Tensor:
    """The reference."""
    return _best(_scores(q, k, w), top)


def _scored(**options: Any) -> Callable:
    return lambda q, k, w, top: _best(_scores(q, k, w, **options), top)


def _chosen(**options: Any) -> Callable:
    return lambda q, k, w, top: _best(_scores(q, k, w), top, **options)


def _threshold(q: Tensor, k: Tensor, w: Tensor, top: int) -> Tensor:
    past = torch.ones(len(k), len(k), dtype=torch.bool).tril()
    scores = _scores(q, k, w).masked_fill(~past, -math.inf)
    return (scores >= scores.topk(min(top, len(k))).values[:, -1:]) & past


def _nearly_hidden(q: Tensor, k: Tensor, w: Tensor, top: int) -> Tensor:
    past = torch.ones(len(k), len(k), dtype=torch.bool).tril()
    return _best(_scores(q, k, w).masked_fill(~past, -1e15), top, may=torch.ones_like)


def _whole(*shape: int, generator: torch.Generator) -> Tensor:
    """Whole numbers, so that all scores are exact in single precision, and equal ones equal everywhere."""
    return torch.randint(-9, 10, shape, generator=generator).float()


def _asked(
    h: int, n: int, m: int, top: int, name: str = "", hint: str = "", seed: int = 0, **given: Any
) -> Case:
    draw = torch.Generator().manual_seed(seed + 100 * n + h)
    made = {
        "q": _whole(h, n, m, generator=draw),
        "k": _whole(n, m, generator=draw),
        "w": _whole(n, h, generator=draw),
    }
    return Case(name, made | {"top": top} | given, hint, exact=True)  # fmt: skip


SOME = torch.tensor([[3.0, -2.0, 0.0, 3.0, 1.0, 2.0]]).mT

exercise(
    "today-indexer",
    "index_mask",
    reference=index_mask,
    cases=[
        _asked(3, 8, 4, 3),
        *draws(
            n=...,
            q=lambda s, g: _whole(s.h, s.n, s.m, generator=g),
            k=lambda s, g: _whole(s.n, s.m, generator=g),
            w=lambda s, g: _whole(s.n, s.h, generator=g),
            h=range(2, 9), m=range(2, 9),
            top=lambda s, g: int(torch.randint(1, 6, (1,), generator=g)),
            seeds=6, large=dict(n=41, h=42, m=43),
        ),
        _asked(2, 9, 3, 1, "one key is chosen", "One place in each row: of equal scores the earliest."),
        _asked(2, 6, 3, 60, "more are wanted than there are", "Then a token sees itself and everything before it."),
        _asked(3, 1, 2, 2, "a single token", "It sees itself."),
        _asked(3, 3, 4, 2, "as many heads as tokens", "Row i of w belongs to query i, and its columns to the heads."),
        _asked(1, 6, 1, 3, "scores of 0, some of them above others", "What relu has cut is 0, and 0 is better than what a negative weight makes.",
               q=torch.ones(1, 6, 1), k=SOME, w=torch.tensor([[1.0], [1.0], [1.0], [-1.0], [-1.0], [1.0]])),
        _asked(2, 7, 3, 3, "all weights 0", "All scores are equal there: of equal ones the earlier key is chosen.", w=torch.zeros(7, 2)),
        _asked(1, 6, 1, 2, "equal scores that are not 0", "Of equal ones the earlier key is chosen, and no more than `top`.",
               q=torch.ones(1, 6, 1), k=torch.tensor([[2.0, 5.0, 5.0, 5.0, 2.0, 7.0]]).mT, w=torch.ones(6, 1)),
        _asked(2, 20, 3, 4, "scores that lie very close", "Only their order counts. A number for the place that is added to a score may turn it.",
               w=_whole(20, 2, generator=torch.Generator().manual_seed(3)) / 2**30),
        _asked(2, 8, 3, 3, "weights far below 0", "A key that is hidden may not come before one that scores far below 0.",
               w=-(1 + _whole(8, 2, generator=torch.Generator().manual_seed(4)).abs()) * 2.0**110),
        _asked(1, 8, 1, 3, "scores near 10,000 that differ by 1", "Only their order counts, however little they differ. In half precision they are equal.",
               q=torch.ones(1, 8, 1), k=10_000 + torch.tensor([[3.0, 1.0, 4.0, 2.0, 6.0, 5.0, 8.0, 7.0]]).mT, w=torch.ones(8, 1)),
        *late(_asked(3, 8, 4, 3, "8 other tokens", seed=7), _asked(2, 50, 3, 44, "50 tokens of which 44 are seen")),
    ],
    within=Tolerance(0.0, 0.0),
    mistakes=[
        mistake("relu is applied to the sum over heads. Each head's product is cut at 0 before it is weighted and added.",
                _scored(cut=lambda x: x, join=lambda heads, w: _weighted(heads, w).relu())),
        mistake("relu is applied to what has been weighted: a negative weight then counts for nothing. Cut q · k, then multiply.",
                _scored(cut=lambda x: x, join=lambda heads, w: (w.mT[..., None] * heads).relu().sum(0))),
        mistake("relu is missing: a product below 0 counts as 0.", _scored(cut=lambda x: x)),
        mistake("Products below 0 count by their size. relu makes them 0.", _scored(cut=torch.abs)),
        mistake("The weights are those of the keys. A head counts as much as the token that *asks* says: row i of w for query i.",
                _scored(join=lambda heads, w: (w.mT[:, None, :] * heads).sum(0))),
        mistake("The weights are not used: heads count alike.", _scored(join=lambda heads, w: heads.sum(0))),
        mistake("The weights have lost their sign. One below 0 votes against what the head finds.",
                _scored(join=lambda heads, w: _weighted(heads, w.abs()))),
        mistake("The weights go through a softmax. Use them as they are, of either sign.",
                _scored(join=lambda heads, w: _weighted(heads, w.softmax(-1)))),
        mistake("The largest head decides. Add them up.", _scored(join=lambda heads, w: (w.mT[..., None] * heads).amax(0))),
        mistake("Only the first head is asked. Add up all of them.", _scored(join=lambda heads, w: w.mT[0, :, None] * heads[0])),
        mistake("Each head chooses for itself. They choose together, by the sum of their scores.",
                lambda q, k, w, top: torch.stack([_best(s, top) for s in w.mT[..., None] * (q @ k.mT).relu()]).any(0)),
        mistake("Later keys take part in the choice and are hidden afterwards: too few are left. Hide them before you choose.",
                _chosen(may=torch.ones_like)),
        mistake("Hidden keys have a large negative score, and some visible ones score less: too few are left. Hide them with −∞.", _nearly_hidden),
        mistake("The scores are made in half precision, where close ones become equal. Keep the precision of what is given.",
                lambda q, k, w, top: index_mask(q.bfloat16(), k.bfloat16(), w.bfloat16(), top)),
        mistake("Later keys are chosen and seen. A token sees itself and what came before.",
                _chosen(may=torch.ones_like, shown=torch.ones_like)),
        mistake("Where fewer than `top` keys are visible, hidden ones are chosen as well, at −∞. Hide them again.", _chosen(shown=torch.ones_like)),
        mistake("Where scores are equal, more than `top` keys are seen: a threshold lets all of them in. Choose places, the earlier ones first.", _threshold),
        mistake("Of equal scores the later key is chosen. Choose the earlier one.", _chosen(last=True)),
        mistake("Places are added to the scores, to tell equal ones apart: scores that lie close are then out of order. Sort stably.",
                lambda q, k, w, top: _best(_scores(q, k, w) - 1e-4 * torch.arange(len(k)), top)),
        mistake("A key that scores 0 or less is never chosen. All visible ones are seen where there are no more than `top`.",
                lambda q, k, w, top: index_mask(q, k, w, top) & (_scores(q, k, w) > 0)),
        mistake("It chooses the keys that fit worst.", _chosen(worst=True)),
        mistake("A token never sees itself. Its own place is one of those it may choose.",
                _chosen(may=lambda past: past.tril(-1), shown=lambda past: past.tril(-1))),
        mistake("A token sees itself in any case. It has to be chosen, as any other.",
                lambda q, k, w, top: index_mask(q, k, w, top) | torch.eye(len(k)).bool()),
        mistake("Each key chooses its queries. Each query chooses its keys: a row has `top` of them.",
                lambda q, k, w, top: _best(_scores(q, k, w).mT.flip(-1, -2), top).flip(-1, -2).mT),
        mistake("The mask is transposed: row i says whom i sees.", lambda q, k, w, top: index_mask(q, k, w, top).mT),
        mistake("It chooses the nearest keys. What counts is their score.",
                lambda q, k, w, top: torch.ones(len(k), len(k)).tril().triu(1 - top).bool()),
        mistake("It chooses one key too many.", lambda q, k, w, top: index_mask(q, k, w, top + 1)),
        mistake("It chooses one key too few.", lambda q, k, w, top: index_mask(q, k, w, top - 1)),
        mistake("It sees everything before it. Only the `top` best keys may be seen.",
                lambda q, k, w, top: torch.ones(len(k), len(k)).tril().bool()),
    ],
    praise="The `top` best of the visible keys by the sum of all heads, all where there are fewer, and of equal ones the earlier.",
)  # fmt: skip


def _weighted(heads: Tensor, w: Tensor) -> Tensor:
    return (w.mT[..., None] * heads).sum(0)


class Step(NamedTuple):
    """What one token reads, and what it leaves behind."""

    output: Any
    state: Any


def _fading(
    *,
    rate: Callable[[Tensor], Tensor] = torch.sigmoid,
    fade: Callable[[Tensor, Tensor], Tensor] = lambda z, a: (-a * F.softplus(z)).exp(),
    ask: str = "faded",
    write: Callable[[Tensor, Tensor, Tensor], Tensor] = lambda beta, v, held: beta * (v - held),
    turned: bool = False,
    transposed: bool = False,
    late: bool = False,
    read: str = "new",
    by: str = "query",
) -> Callable:
    """One step of the gated delta rule, with one thing wrong."""

    def answer(x, state, q, k, v, w_beta, w_alpha, a):
        beta, alpha = rate(w_beta @ x)[:, None], fade(w_alpha @ x, a)[:, None, None]
        faded = state if late else alpha * state
        asked = state if ask == "old" else faded
        held = (asked @ k[..., None]).squeeze(-1) if turned else (k[:, None] @ asked).squeeze(1)
        change = write(beta, v, held)
        new = faded + (change[..., None] * k[:, None] if transposed else k[..., None] * change[:, None])
        new = alpha * new if late else new
        seen, who = {"new": new, "faded": faded, "old": state}[read], q if by == "query" else k
        return Step((who[:, None] @ seen).squeeze(1), new)

    return answer


def _read_by_columns(x, state, q, k, v, w_beta, w_alpha, a):
    new = _fading()(x, state, q, k, v, w_beta, w_alpha, a).state
    return Step((new @ q[..., None]).squeeze(-1), new)


def _first_gates(*which: str) -> Callable:
    """All heads fade, or write, as the first does."""

    def answer(x, state, q, k, v, w_beta, w_alpha, a):
        w_beta = w_beta[:1].expand_as(w_beta) if "beta" in which else w_beta
        if "alpha" in which:
            w_alpha, a = w_alpha[:1].expand_as(w_alpha), a[:1].expand_as(a)
        return _fading()(x, state, q, k, v, w_beta, w_alpha, a)

    return answer


def _where_square(does: Callable) -> Callable:
    """Do it where a state has as many rows as columns: elsewhere it would not fit."""
    return lambda x, state, *rest: (does if state.shape[-1] == state.shape[-2] else _fading())(
        x, state, *rest
    )


def _unit(s: Any, generator: torch.Generator) -> Tensor:
    return F.normalize(torch.randn(s.h, s.m, generator=generator), dim=-1)


def _pace(s: Any, generator: torch.Generator) -> Tensor:
    return 0.2 + 1.5 * torch.rand(s.h, generator=generator)


ARGUMENTS = {
    "x": "e",
    "state": "h m d",
    "q": _unit,
    "k": _unit,
    "v": "h d",
    "w_beta": "h e",
    "w_alpha": "h e",
    "a": _pace,
}


def _moment(seed: int, name: str, hint: str, h: int, m: int, d: int, beta: float | None = None,
            alpha: float | None = None, a: float | None = None, length: float = 1.0) -> Case:  # fmt: skip
    """A case in which w_beta · x and w_alpha · x of every head, and the length of keys and queries, are what is said."""
    draw = torch.Generator().manual_seed(seed)
    x, w_beta, w_alpha = torch.ones(4), torch.randn(h, 4, generator=draw), torch.randn(h, 4, generator=draw)
    for w, wanted in ((w_beta, beta), (w_alpha, alpha)):
        if wanted is not None:
            w[:] = wanted / 4
    keys = (length * F.normalize(torch.randn(h, m, generator=draw), dim=-1) for _ in range(2))
    state, v = torch.randn(h, m, d, generator=draw), torch.randn(h, d, generator=draw)
    pace = 0.2 + 1.5 * torch.rand(h, generator=draw) if a is None else torch.full((h,), a)
    values = (x, state, *keys, v, w_beta, w_alpha, pace)
    return case(name, hint, **dict(zip(ARGUMENTS, values, strict=True)))


exercise(
    "today-delta",
    "delta_token",
    reference=lambda x, state, q, k, v, w_beta, w_alpha, a: _fading()(x, state, q, k, v, w_beta, w_alpha, a),
    cases=[
        # Square first: there a transposed state does not raise.
        *draws(**ARGUMENTS | {"state": "h m m", "v": "h m"}, spread=0.7, seeds=3),
        *draws(**ARGUMENTS, spread=0.7, seeds=4),
        _moment(1, "one head", "", 1, 3, 4),
        _moment(2, "w_beta · x = −30", "Hardly anything is written, and the state fades.", 2, 4, 3, beta=-30.0),
        _moment(3, "w_alpha · x = −30", "Hardly anything fades.", 2, 4, 3, alpha=-30.0),
        _moment(4, "w_alpha · x = 120 and a = 0.01", "The softplus of 120 is 120; its exponential alone is larger than any number.", 2, 3, 5, alpha=120.0, a=0.01),
        _moment(5, "keys and queries of length 2", "They are used as they come.", 2, 3, 4, length=2.0),
    ],
    promises=[gradient("x", "state", "q", "k", "v", "w_beta", "w_alpha", "a"), precisions("float64")],
    mistakes=[
        mistake("Nothing fades: the state is multiplied by α before anything else.", _fading(fade=lambda z, a: torch.ones_like(z))),
        mistake("α is the sigmoid of w_alpha · x, and a is not used. It is exp(−a · softplus(w_alpha · x)).", _fading(fade=lambda z, a: z.sigmoid())),
        mistake("a is missing: α = exp(−a · softplus(w_alpha · x)).", _fading(fade=lambda z, a: (-F.softplus(z)).exp())),
        mistake("The state grows: the exponent of α has a minus.", _fading(fade=lambda z, a: (a * F.softplus(z)).exp())),
        mistake("The state is multiplied by the logarithm of α. Take its exponential.", _fading(fade=lambda z, a: -a * F.softplus(z))),
        mistake("softplus is missing: where w_alpha · x is below 0 the state would grow.", _fading(fade=lambda z, a: (-a * z).exp())),
        mistake("That is relu in the place of softplus: a head could keep all it has.", _fading(fade=lambda z, a: (-a * z.relu()).exp())),
        mistake("The exponential in softplus overflows where w_alpha · x is large. F.softplus is made for that.",
                _fading(fade=lambda z, a: (-a * (1 + z.exp()).log()).exp())),
        mistake("α and 1 − α have changed places: α says how much stays.", _fading(fade=lambda z, a: 1 - (-a * F.softplus(z)).exp())),
        mistake("β is not used: how much is written comes from the token, too.", _fading(rate=torch.ones_like)),
        mistake("β is w_beta · x itself. Take its sigmoid.", _fading(rate=lambda z: z)),
        mistake("β is twice the sigmoid. Here it lies between 0 and 1.", _fading(rate=lambda z: 2 * z.sigmoid())),
        mistake("β and 1 − β have changed places.", _fading(rate=lambda z: (-z).sigmoid())),
        mistake("w_beta and w_alpha have changed places.", lambda x, state, q, k, v, w_beta, w_alpha, a: _fading()(x, state, q, k, v, w_alpha, w_beta, a)),
        mistake("What the key holds is asked of the state before it faded. Let it fade first, then ask.", _fading(ask="old")),
        mistake("What is written fades at once. Let the old state fade first, then write.", _fading(late=True)),
        mistake("The value is added to what is there. First take away what the faded state holds under the key.", _fading(write=lambda beta, v, held: beta * v)),
        mistake("The sign is wrong: this moves the state away from the value.", _fading(write=lambda beta, v, held: beta * (held - v))),
        mistake("β multiplies the value alone. It must multiply the whole difference.", _fading(write=lambda beta, v, held: beta * v - held)),
        mistake("β multiplies the old answer alone. It must multiply the whole difference.", _fading(write=lambda beta, v, held: v - beta * held)),
        mistake("The outer product is transposed: rows of the state belong to the key.", _where_square(_fading(transposed=True))),
        mistake("What the key holds is k @ S, not S @ k: rows belong to the key.", _where_square(_fading(turned=True))),
        mistake("The output is q @ S, not S @ q: rows belong to queries and keys.", _where_square(_read_by_columns)),
        mistake("The output is read before this token has written. Write, then read.", _fading(read="faded")),
        mistake("The output is read from the state as it came in. Let it fade, write, then read.", _fading(read="old")),
        mistake("The output is what the key finds. Ask with the query.", _fading(by="key")),
        mistake("All heads fade as the first does. Each has a row of w_alpha and an a of its own.", _first_gates("alpha")),
        mistake("All heads write at the rate of the first. Each has a row of w_beta of its own.", _first_gates("beta")),
        mistake("The state comes first. Return the output, then the state.",
                lambda *given: Step(*reversed(_fading()(*given)))),
        mistake("Keys and queries are divided by their length. Use them as they come.",
                lambda x, state, q, k, *rest: _fading()(x, state, F.normalize(q, dim=-1), F.normalize(k, dim=-1), *rest)),
        mistake("The old state is returned. Return the one that was written to.",
                lambda x, state, *rest: Step(_fading()(x, state, *rest).output, state)),
    ],
    praise="Each head fades, corrects and reads its state, as fast as the token says.",
)  # fmt: skip
