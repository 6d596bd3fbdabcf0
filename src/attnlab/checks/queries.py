"""Exercises on queries, keys and values: self-attention, the other convention, every shape."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from attnlab.checks.exercise import case, draws, exercise, gradient, mistake, precisions


def _head(
    scale: Callable[[Tensor, Tensor, Tensor, Tensor], float] = lambda x, w_q, w_k, w_v: w_q.shape[-1] ** -0.5,
    weigh: Callable[[Tensor], Tensor] = lambda s: s.softmax(-1),
    scores: Callable[[Tensor, Tensor], Tensor] = lambda q, k: q @ k.mT,
) -> Callable[..., Tensor]:
    """One head, with a part that can be exchanged."""

    def self_attention(x: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor) -> Tensor:
        return weigh(scores(x @ w_q, x @ w_k) * scale(x, w_q, w_k, w_v)) @ (x @ w_v)

    return self_attention


exercise(
    "queries-self-attention",
    "self_attention",
    reference=_head(),
    cases=[
        *draws(x="... n m", w_q="m k", w_k="m k", w_v="m v", lead=[(), (2,), (3,), (2, 4)], seeds=8),
        case(
            "scores from -400 to 400",
            "Every exponential must stay finite: subtract the largest score of each row first, or use torch.softmax.",
            **{
                name: 4.0 * value
                for name, value in draws(x="n m", w_q="m k", w_k="m k", w_v="m v", seeds=1)[0].values.items()
            },
        ),
    ],
    promises=[gradient("x", "w_q", "w_k", "w_v"), precisions("float64")],
    mistakes=[
        mistake("The scores are not scaled. Divide them by the root of d_k.", _head(lambda *_: 1.0)),
        mistake(
            "It divides by d_k. Divide by its square root.", _head(lambda x, w_q, w_k, w_v: 1 / w_q.shape[-1])
        ),
        mistake(
            "It divides by the root of d_model. The scores are sums over d_k products.",
            _head(lambda x, w_q, w_k, w_v: x.shape[-1] ** -0.5),
        ),
        mistake(
            "It divides by the root of d_v. The scores are sums over d_k products.",
            _head(lambda x, w_q, w_k, w_v: w_v.shape[-1] ** -0.5),
        ),
        mistake(
            "It divides by the root of the number of tokens. The scores are sums over d_k products.",
            _head(lambda x, w_q, w_k, w_v: x.shape[-2] ** -0.5),
        ),
        mistake(
            "It multiplies by the root of d_k. Divide.", _head(lambda x, w_q, w_k, w_v: w_q.shape[-1] ** 0.5)
        ),
        mistake(
            "The scale comes after the softmax. Scale the scores, then take the softmax.",
            lambda x, w_q, w_k, w_v: _head(lambda *_: 1.0)(x, w_q, w_k, w_v) / w_q.shape[-1] ** 0.5,
        ),
        mistake(
            "The softmax runs down the columns. Each row belongs to one query: use dim=-1.",
            _head(weigh=lambda s: s.softmax(-2)),
        ),
        mistake(
            "The softmax runs along dimension 1, which is another one in a batch. Count from the end: dim=-1.",
            _head(weigh=lambda s: s.softmax(1)),
        ),
        mistake(
            "The softmax runs along dimension 0, which is another one in a batch. Count from the end: dim=-1.",
            _head(weigh=lambda s: s.softmax(-1 if s.dim() == 2 else 0)),
        ),
        mistake(
            "Queries and keys have changed places: row i belongs to the query of token i.",
            _head(scores=lambda q, k: k @ q.mT),
        ),
        mistake("There is no softmax between the scores and the sum.", _head(weigh=lambda s: s)),
        mistake(
            "With a batch the answer changes. Transpose the last two axes alone: k.transpose(-2, -1).",
            _head(scores=lambda q, k: q @ k.permute(*range(k.dim())[::-1])),
        ),
        mistake(
            "Large exponentials overflow: subtract the largest score of each row first, or use torch.softmax.",
            _head(weigh=lambda s: s.exp() / s.exp().sum(-1, keepdim=True)),
        ),
    ],
    praise="Three projections, scaled scores, softmax of each row, weighted sum: for any batch.",
)


def _columns(
    scale: Callable[[Tensor, Tensor, Tensor], float] = lambda q, k, v: q.shape[0] ** -0.5, dim: int = 0
) -> Callable[..., Tensor]:
    return lambda q, k, v: v @ (k.mT @ q * scale(q, k, v)).softmax(dim)


exercise(
    "queries-columns",
    "attention_columns",
    reference=_columns(),
    cases=draws(q="k n", k="k m", v="v m", seeds=8),
    promises=[gradient("q", "k", "v"), precisions("float64")],
    mistakes=[
        mistake(
            "The output has tokens as rows. In this convention they are columns: shape (d_v, n_q).",
            lambda q, k, v: _columns()(q, k, v).mT,
        ),
        mistake(
            "The softmax runs along the rows. Here each query is a column: its column must sum to 1.",
            _columns(dim=1),
        ),
        mistake(
            "The scores are not scaled. Divide them by the root of d_k, the number of rows of K.",
            _columns(lambda q, k, v: 1.0),
        ),
        mistake(
            "It divides by the root of the number of keys. d_k is the number of rows here.",
            _columns(lambda q, k, v: k.shape[1] ** -0.5),
        ),
        mistake(
            "It divides by the root of the number of queries. d_k is the number of rows here.",
            _columns(lambda q, k, v: q.shape[1] ** -0.5),
        ),
        mistake(
            "It divides by the root of d_v. The scores are sums over d_k products.",
            _columns(lambda q, k, v: v.shape[0] ** -0.5),
        ),
        mistake("It divides by d_k. Divide by its square root.", _columns(lambda q, k, v: 1 / q.shape[0])),
    ],
    praise="Tokens as columns: the transpose of our convention, and nothing else.",
)


def _shapes(**changed: Callable[..., tuple[int, ...]]) -> Callable[..., dict[str, tuple[int, ...]]]:
    def shapes(batch: int, n: int, d_model: int, d_k: int, d_v: int) -> dict[str, tuple[int, ...]]:
        found = {
            "q": (batch, n, d_k),
            "k": (batch, n, d_k),
            "v": (batch, n, d_v),
            "scores": (batch, n, n),
            "weights": (batch, n, n),
            "out": (batch, n, d_v),
        }
        return found | {name: change(batch, n, d_model, d_k, d_v) for name, change in changed.items()}

    return shapes


exercise(
    "queries-shapes",
    "shapes",
    reference=_shapes(),
    cases=[
        case("", batch=batch, n=n, d_model=d_model, d_k=d_k, d_v=d_v)
        for batch, n, d_model, d_k, d_v in ((50, 5, 3, 7, 4), (2, 3, 8, 1, 6), (1, 12, 5, 9, 2))
    ],
    mistakes=[
        mistake(
            "Scores compare every token with every token: n by n, whatever the widths.",
            _shapes(scores=lambda b, n, m, k, v: (b, n, k), weights=lambda b, n, m, k, v: (b, n, k)),
        ),
        *(
            mistake("Scores compare every token with every token: n by n, whatever the widths.", wrong)
            for wrong in (
                _shapes(scores=lambda b, n, m, k, v: (b, n, k)),
                _shapes(scores=lambda b, n, m, k, v: (b, k, k), weights=lambda b, n, m, k, v: (b, k, k)),
            )
        ),
        mistake("A softmax changes no shape.", _shapes(weights=lambda b, n, m, k, v: (n, n))),
        mistake("A softmax changes no shape.", _shapes(weights=lambda b, n, m, k, v: (b, n))),
        mistake("Queries have the width d_k, one row a token.", _shapes(q=lambda b, n, m, k, v: (b, n, m))),
        mistake(
            "Keys have the width of the queries, or they could not be compared.",
            _shapes(k=lambda b, n, m, k, v: (b, n, m)),
        ),
        mistake(
            "Keys have the shape of the queries; only the product turns them.",
            _shapes(k=lambda b, n, m, k, v: (b, k, n)),
        ),
        mistake("Values have a width of their own, d_v.", _shapes(v=lambda b, n, m, k, v: (b, n, k))),
        mistake(
            "Values have a width of their own, d_v.",
            _shapes(v=lambda b, n, m, k, v: (b, n, k), out=lambda b, n, m, k, v: (b, n, k)),
        ),
        mistake(
            "The output is a mean of values: it has their width, d_v.",
            _shapes(out=lambda b, n, m, k, v: (b, n, m)),
        ),
        mistake(
            "The output is a mean of values: it has their width, d_v.",
            _shapes(out=lambda b, n, m, k, v: (b, n, k)),
        ),
    ],
    praise="Every shape follows from five sizes; d_k leaves no trace in the output.",
)
