"""Exercises on heads: two that route, one at its mean, and key-value heads that are shared."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from attnbook.checks.exercise import case, draws, exercise, gradient, late, mistake, precisions, without
from attnbook.checks.values import Tolerance, describe
from attnlab.dot_product import attention, grouped_attention


def _normal(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


ROWS, ANSWERS = "the rows of w_k without the first", "what the two heads answer"


def _run(matrices: Any) -> dict[str, Any]:
    """Put the matrices of two heads to work on numbers drawn anew: every question about every pair of places.

    Args:
        matrices: what the reader's function returned.

    Returns:
        How many places w_k is made for, and what is answered, (draws, questions, 2).

    Raises:
        ValueError: a sentence about matrices that don't fit.
    """
    if not isinstance(matrices, tuple | list) or len(matrices) != 4:
        raise ValueError(f"route should return four matrices, it returned {describe(matrices)}.")
    names = ("w_q", "w_k", "w_v", "w_o")
    for name, matrix in zip(names, matrices, strict=True):
        if not isinstance(matrix, Tensor) or matrix.dim() != 2 or not matrix.is_floating_point():
            kind = f" of {describe(matrix.dtype)}" if isinstance(matrix, Tensor) else ""
            raise ValueError(
                f"{name} should be a matrix of floating numbers, it is {describe(matrix)}{kind}."
            )
    w_q, w_k, w_v, w_o = (matrix.double() for matrix in matrices)
    m = w_k.shape[0] - 1
    wanted = {"w_q": w_q.shape[0] == 2 * m, "w_v": w_v.shape[0] == 1 + m, "w_o": w_o.shape[1] == 2}
    for name, fits in wanted.items():
        if not fits:
            what = {"w_q": "a row for each number of a query", "w_v": "a row for each number of a token, as w_k",
                    "w_o": "two columns"}[name]  # fmt: skip
            raise ValueError(
                f"{name} should have {what}; the shapes are {', '.join(map(describe, matrices))}."
            )
    if w_q.shape[1] % 2 or w_v.shape[1] % 2:
        raise ValueError("Two heads share the columns of w_q, w_k and w_v, so their number should be even.")
    if w_q.shape[1] != w_k.shape[1] or w_v.shape[1] != w_o.shape[0]:
        raise ValueError(
            f"w_q and w_k should be equally wide, and w_o should have a row for each column of w_v; the shapes "
            f"are {', '.join(map(describe, matrices))}."
        )
    questions, tokens, _ = _asked(m)
    q, k, v = ((t @ w).unflatten(-1, (2, -1)).transpose(-3, -2) for t, w in
               ((questions, w_q), (tokens, w_k), (tokens, w_v)))  # fmt: skip
    return {ROWS: m, ANSWERS: attention(q, k, v).transpose(-3, -2).flatten(-2) @ w_o}


def _asked(m: int) -> tuple[Tensor, Tensor, Tensor]:
    """Up to 500 of the m² questions, eight draws of tokens, and what is right for each."""
    places = torch.eye(m, dtype=torch.float64)
    pairs = torch.cartesian_prod(torch.arange(m), torch.arange(m))
    first, second = pairs[:: 1 + len(pairs) // 500].T  # of many places, some pairs
    u = 6 * torch.rand(8, m, generator=torch.Generator().manual_seed(m), dtype=torch.float64) - 3
    tokens = torch.cat((u[..., None], places.expand(8, m, m)), -1)
    return (
        torch.cat((places[first], places[second]), -1),
        tokens,
        torch.stack((u[:, first], u[:, second]), -1),
    )


def _matrices(m, *, scale=1e4, look=(0, 1), write=(0, 1), content=0.0):
    """Two heads, head i looking where the query's half look[i] says and writing into number write[i]."""
    place, w_q = torch.eye(m), torch.zeros(2 * m, 2 * m)
    for head, half in enumerate(look):
        w_q[half * m : (half + 1) * m, head * m : (head + 1) * m] = scale * place
    w_k = torch.cat((torch.full((1, 2 * m), content), torch.cat((place, place), -1)))
    w_v = torch.cat((torch.ones(1, 2), torch.zeros(m, 2)))
    w_o = torch.zeros(2, 2)
    for head, number in enumerate(write):
        w_o[head, number] = 1
    return w_q, w_k, w_v, w_o


exercise(
    "heads-route",
    "route",
    reference=lambda m: {ROWS: m, ANSWERS: _asked(m)[2]},
    read=_run,
    cases=[
        case("two places", "The scores are divided by the root of d_head, and the weights should be 0 and 1 to a thousandth.", m=2),
        case("three places", m=3),
        case("five places", m=5),
        case("nine places", m=9),
        case("twelve places", m=12),
        *late(case("150 places", "A score of 100 is 8 once it is divided by the root of 150: the other 149 places get 4 % of the weight.", m=150)),
    ],
    within=Tolerance(0.01, 0.0),
    mistakes=[
        mistake("Both heads look at the place that is asked for first. Head 2 should read the second half of the query.",
                lambda m: _matrices(m, look=(0, 0))),
        mistake("Both heads look at the place that is asked for second. Head 1 should read the first half of the query.",
                lambda m: _matrices(m, look=(1, 1))),
        mistake("The two numbers are exchanged: the one that is asked for first comes first.",
                lambda m: _matrices(m, write=(1, 0))),
        mistake("Both heads write into the first number. Each row of w_o belongs to one head.",
                lambda m: _matrices(m, write=(0, 0))),
        mistake("The queries are a bare identity: scores of 1 and 0 make weights that are nearly alike. Make the scores large.",
                lambda m: _matrices(m, scale=1.0)),
        mistake("The queries are too small: the weights are not 0 and 1. Make the scores larger.",
                lambda m: _matrices(m, scale=10.0)),
        mistake("The heads look away from the place that is asked for: the scores have the wrong sign.",
                lambda m: _matrices(m, scale=-1e4)),
        mistake("Every token gets the same weight, whatever is asked.", lambda m: _matrices(m, scale=0.0)),
        mistake("Each number is halved.", lambda m: (*_matrices(m)[:3], 0.5 * torch.eye(2))),
        mistake("The numbers that the tokens hold enter the scores. Let the keys see the places only.",
                lambda m: _matrices(m, content=1.0)),
    ],
    praise="Two heads that route: whatever is asked, in whatever order, each puts its number where it belongs.",
)  # fmt: skip


def _mean(heads, w_o, i, real, *, mean=None, keep=None):
    """The reference, with parts that can be exchanged."""
    d = heads.shape[-1]
    rows = w_o[i * d : (i + 1) * d]
    side_by_side = heads.transpose(1, 2).flatten(2)
    value = heads[:, i][real].mean(0) if mean is None else mean(heads, i, real)
    change = value - heads[:, i]
    if keep is not None:
        change = change * keep(real)[..., None]
    return side_by_side @ w_o + change @ rows


def _by_sentence(heads, i, real):
    counted = real[..., None].to(heads.dtype)
    return (heads[:, i] * counted).sum(1, keepdim=True) / counted.sum(1, keepdim=True)


def _outputs(s, generator: torch.Generator) -> Tensor:
    return torch.randn(s.b, s.h, s.n, s.d, generator=generator)


def _real(s, generator: torch.Generator) -> Tensor:
    """Sentences of several lengths: at least one token each."""
    lengths = torch.randint(1, s.n + 1, (s.b, 1), generator=generator)
    return torch.arange(s.n) < lengths


def _bench(real: list[list[int]], h: int = 3, d: int = 2, i: int = 1) -> dict[str, Any]:
    b, n = len(real), len(real[0])
    return {
        "heads": _normal(b, h, n, d),
        "w_o": _normal(h * d, 5, seed=1),
        "i": i,
        "real": torch.tensor(real).bool(),
    }


exercise(
    "heads-mean",
    "at_its_mean",
    reference=lambda heads, w_o, i, real: _mean(heads, w_o, i, real),
    cases=[
        *draws(n=..., b=(2, 3, 4), h=(2, 3, 4, 6), d=(2, 3, 4, 5, 7), heads=_outputs,
               w_o=lambda s, g: torch.randn(s.h * s.d, 9, generator=g), i=lambda s, g: int(torch.randint(s.h, (1,), generator=g)),
               real=_real, seeds=8, large=dict(b=42, h=43, d=44)),
        case("three sentences, the first the shortest", **_bench([[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 1]])),
        case("padding on the left", **_bench([[0, 0, 1, 1, 1], [0, 1, 1, 1, 1]], i=2)),
        case("nothing is padding", **_bench([[1, 1, 1], [1, 1, 1]], i=0)),
        case("one token in all", **_bench([[1, 0]])),
        case("one sentence is empty", **_bench([[0, 0, 0], [1, 1, 0]])),
        case("one head", **_bench([[1, 1, 0], [1, 1, 1]], h=1, d=4, i=0)),
        *late(
            case("two sentences of other lengths and numbers",
                 **_bench([[1, 0, 0], [1, 1, 0]], i=0) | {"heads": _normal(2, 3, 3, 2, seed=2), "w_o": _normal(6, 5, seed=3)}),
            case("the last of 44 heads", **_bench([[1, 1, 0], [1, 1, 1]], h=44, i=43)),
            case("a width of 45", **_bench([[1, 1, 0], [1, 1, 1]]) | {"w_o": _normal(6, 45, seed=1)}),
        ),
    ],
    promises=[gradient("heads", "w_o"), precisions("float64")],
    mistakes=[
        mistake("Head i is set to zero. Put its mean there.",
                lambda heads, w_o, i, real: _mean(heads, w_o, i, real, mean=lambda heads, i, real: 0.0)),
        mistake("Nothing is changed: head i still says what it said.",
                lambda heads, w_o, i, real: heads.transpose(1, 2).flatten(2) @ w_o),
        mistake("Padding is counted in the mean. Take the rows where real is True.",
                lambda heads, w_o, i, real: _mean(heads, w_o, i, real, mean=lambda heads, i, _: heads[:, i].mean((0, 1)))),
        mistake("The sum is divided by all rows, padding included. Divide by the number of real tokens.",
                lambda heads, w_o, i, real: _mean(heads, w_o, i, real, mean=lambda heads, i, real: heads[:, i][real].sum(0) / real.numel())),
        mistake("Each sentence has its own mean. There is one mean, over all real tokens of all sentences.",
                lambda heads, w_o, i, real: _mean(heads, w_o, i, real, mean=_by_sentence)),
        mistake("It takes the mean of the sentences' means. All tokens count alike, so long sentences count more.",
                lambda heads, w_o, i, real: _mean(heads, w_o, i, real, mean=lambda *a: _by_sentence(*a).mean(0, keepdim=True))),
        mistake("The mean runs over the columns too. It is a vector: one number for each column of the head.",
                lambda heads, w_o, i, real: _mean(heads, w_o, i, real, mean=lambda heads, i, real: heads[:, i][real].mean())),
        mistake("The mean is that of all heads. Take head i's own.",
                lambda heads, w_o, i, real: _mean(heads, w_o, i, real, mean=lambda heads, i, real: heads.mean(1)[real].mean(0))),
        mistake("Another head is taken out. Heads are counted from 0.",
                lambda heads, w_o, i, real: _mean(heads, w_o, i - 1 if i else heads.shape[1] - 1, real)),
        mistake("All other heads are at their means. Only head i should be.",
                lambda heads, w_o, i, real: _others(heads, w_o, i, real)),
        mistake("Only what head i says is left. The other heads still speak.",
                lambda heads, w_o, i, real: (heads[:, i][real].mean(0) @ w_o[i * heads.shape[-1] : (i + 1) * heads.shape[-1]]).expand(
                    heads.shape[0], heads.shape[2], -1)),
        mistake("Rows of padding keep what head i said. It gives its mean everywhere.",
                lambda heads, w_o, i, real: _mean(heads, w_o, i, real, keep=lambda real: real)),
        mistake("The heads are joined without moving them back: a row mixes several tokens. Swap the axes of heads and tokens first.",
                lambda heads, w_o, i, real: (heads + (torch.arange(heads.shape[1]) == i)[:, None, None] * (
                    heads[:, i][real].mean(0) - heads)).reshape(heads.shape[0], heads.shape[2], -1) @ w_o),
    ],
    praise="The head says the same everywhere, and all the others say what they said.",
)  # fmt: skip


def _others(heads: Tensor, w_o: Tensor, i: int, real: Tensor) -> Tensor:
    means = torch.stack([one[real].mean(0) for one in heads.unbind(1)])  # (n_heads, d_head)
    own = (torch.arange(heads.shape[1]) == i)[:, None, None]
    return torch.where(own, heads, means[:, None]).transpose(1, 2).flatten(2) @ w_o


def _groups(s, generator: torch.Generator) -> Tensor:
    """Queries of r heads for each of g key-value heads."""
    return torch.randn(*s.lead, s.r * s.g, s.n, s.d, generator=generator)


def _neighbours(t: Tensor, share: int) -> Tensor:
    return t.repeat_interleave(share, -3)


def _in_turn(t: Tensor, share: int) -> Tensor:
    return torch.cat([t] * share, -3)


def _overflows(scores: Tensor) -> Tensor:
    return scores.exp() / scores.exp().sum(-1, keepdim=True)


def _attend(q, k, v, *, keys=_neighbours, values=_neighbours, scale=None, weigh=lambda s: s.softmax(-1)):
    """Attention of query heads to key-value heads that were repeated in some way."""
    share = q.shape[-3] // k.shape[-3]
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    return weigh(q @ keys(k, share).mT * scale) @ values(v, share)


def _loud(kv_heads: int, share: int) -> dict[str, Tensor]:
    """Scores that all lie about 100 higher: exp overflows in single precision, and the weights stay what they are.

    Queries and keys are eighths, so that their products are exact: rounding at that height would shift weights.
    """
    shared = {name: (8 * x).round() / 8 for name, x in _shared(kv_heads, share).items()}
    shared["q"][..., 0], shared["k"][..., 0] = 260.0, 1.0
    return shared


def _apart(kv_heads: int, share: int) -> dict[str, Tensor]:
    """The same, but the scores of the first row lie 200 above those of the others."""
    loud = _loud(kv_heads, share)
    loud["q"][:, :, 1:, 0] = -260.0
    return loud


def _below_the_largest(scores: Tensor) -> Tensor:
    e = (scores - scores.max()).exp()
    return e / e.sum(-1, keepdim=True)


def _shared(kv_heads: int, share: int, n_q: int = 3) -> dict[str, Tensor]:
    shapes = {"q": (kv_heads * share, n_q, 7), "k": (kv_heads, 6, 7), "v": (kv_heads, 6, 9)}
    return {name: _normal(2, *shape, seed=seed) for seed, (name, shape) in enumerate(shapes.items())}


exercise(
    "heads-grouped-query",
    "grouped_query",
    reference=lambda q, k, v: _attend(q, k, v),
    cases=[
        *draws(n=..., r=(2, 3, 4), g=(2, 3, 4, 5), q=_groups, k="... g m d", v="... g m w", lead=[(2,), (3,), (1,), (4,)],
               seeds=6, large=dict(r=42, g=43)),
        case("one key-value head for all five query heads (multi-query)", **_shared(1, 5)),
        case("a key-value head for each of four query heads", "Then nothing is shared.", **_shared(4, 1)),
        case("sixteen heads that share eight", **_shared(8, 2)),
        case("one head", **_shared(1, 1)),
        case("as many queries as keys", "Nothing is hidden there either.", **_shared(2, 2, n_q=6)),
        case("scores about 100", "There exp overflows; Tensor.softmax takes the largest score of a row off first.", **_loud(2, 3)),
        case("rows whose scores lie 200 apart", "Each row has a largest score of its own.", **_apart(2, 3)),
    ],
    promises=[
        gradient("q", "k", "v"),
        precisions("float64"),
        without(
            "Here softmax and matrix products do it, without a ready-made attention.",
            attention, grouped_attention, "attnlab.dot_product", scaled_dot_product_attention),
    ],
    mistakes=[
        mistake("The heads are dealt out in turn (1 2 1 2 1 2). Neighbours share: 1 1 1 2 2 2, repeat_interleave.",
                lambda q, k, v: _attend(q, k, v, keys=_in_turn, values=_in_turn)),
        mistake("Keys and values are repeated in different orders: a head gets the keys of one group and the values of another.",
                lambda q, k, v: _attend(q, k, v, values=_in_turn)),
        mistake("Keys and values are repeated in different orders: a head gets the keys of one group and the values of another.",
                lambda q, k, v: _attend(q, k, v, keys=_in_turn)),
        mistake("All query heads use the first key-value head. That is multi-query attention; here each group has its own.",
                lambda q, k, v: _attend(q, k[:, :1], v[:, :1])),
        mistake("The key-value heads are averaged. They were averaged long ago, if ever; each group has its own.",
                lambda q, k, v: _attend(q, k.mean(1, keepdim=True), v.mean(1, keepdim=True))),
        mistake("The groups come in the reverse order: the first query heads use the first key-value head.",
                lambda q, k, v: _attend(q, k.flip(1), v.flip(1))),
        mistake("Only one query head for each group is left. All of them ask; they share only keys and values.",
                lambda q, k, v: _attend(q[:, : k.shape[1]], k, v)),
        mistake("The queries of a group are averaged. All of them ask for themselves; only keys and values are shared.",
                lambda q, k, v: _attend(
                    _neighbours(q.unflatten(1, (k.shape[1], -1)).mean(2), q.shape[1] // k.shape[1]), k, v
                )),
        mistake("The scores are not scaled. Divide them by the root of d_head.", lambda q, k, v: _attend(q, k, v, scale=1.0)),
        mistake("It divides by d_head. Divide by its root.", lambda q, k, v: _attend(q, k, v, scale=1 / q.shape[-1])),
        mistake("It divides by the root of the whole width. A head's scores are sums over d_head products.",
                lambda q, k, v: _attend(q, k, v, scale=(q.shape[1] * q.shape[-1]) ** -0.5)),
        mistake("It divides by the root of all the keys' columns, n_kv_heads · d_head. A head's scores are sums over d_head products.",
                lambda q, k, v: _attend(q, k, v, scale=(k.shape[1] * k.shape[-1]) ** -0.5)),
        mistake("It divides by the root of the values' width. Scores are sums over d_head products: divide by the root of d_head.",
                lambda q, k, v: _attend(q, k, v, scale=v.shape[-1] ** -0.5)),
        mistake("It divides by the root of the number of keys. Scores are sums over d_head products: divide by the root of d_head.",
                lambda q, k, v: _attend(q, k, v, scale=k.shape[-2] ** -0.5)),
        mistake("It divides after the softmax, so rows no longer sum to 1. Divide the scores.",
                lambda q, k, v: _attend(q, k, v, scale=1.0) / q.shape[-1] ** 0.5),
        mistake("The softmax runs down the columns. Each row belongs to one query: use dim=-1.",
                lambda q, k, v: _attend(q, k, v, weigh=lambda s: s.softmax(-2))),
        mistake("exp overflows where scores are large: the output is not a number. Tensor.softmax takes the largest score off first.",
                lambda q, k, v: _attend(q, k, v, weigh=_overflows)),
        mistake("The largest of all scores is taken off, and where a row lies far below it, 0 is divided by 0. Take off the largest of each row.",
                lambda q, k, v: _attend(q, k, v, weigh=_below_the_largest)),
        mistake("The softmax runs over the heads. Each row belongs to one query of one head: use dim=-1.",
                lambda q, k, v: _attend(q, k, v, weigh=lambda s: s.softmax(1))),
    ],
    praise="Neighbouring query heads share a key-value head: from one for each of them down to one for all.",
)  # fmt: skip
