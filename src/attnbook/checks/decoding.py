"""Exercises on decoding: a step with a rolling cache, prompts padded on the left, top-p, and the check of a draft."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from attnbook.checks.exercise import case, draws, exercise, late, mistake, precisions, rows


def _step(
    x: Tensor, t: int, keys: Tensor, values: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, *,
    slot: Callable[[int, int], int] = lambda t, room: t % room,
    seen: Callable[[int, int], int] = lambda t, room: min(t + 1, room),
    scale: Callable[[Tensor, Tensor], float] = lambda x, q: q.shape[-1] ** -0.5,
    late: bool = False, fresh: bool = True,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """One head, one new token; the options are what can go wrong."""
    room, new_keys, new_values = keys.shape[1], keys.clone(), values.clone()
    at = slot(t, room)
    new_keys[:, at], new_values[:, at] = x @ w_k, x @ w_v
    used = seen(t, room)
    k, v = (keys, values) if late else (new_keys, new_values)
    q = x @ w_q
    weights = (q[:, None] @ k[:, :used].mT * scale(x, q)).softmax(-1)
    out = (weights @ v[:, :used])[:, 0]
    return (out, new_keys, new_values) if fresh else (out, keys, values)


def _moved(x, t, keys, values, w_q, w_k, w_v):
    """Drop the first slot and write into the last."""
    keys, values = (torch.cat((old[:, 1:], (x @ w)[:, None]), 1) for old, w in ((keys, w_k), (values, w_v)))
    used = min(t + 1, keys.shape[1])
    q = x @ w_q
    weights = (q[:, None] @ keys[:, -used:].mT * q.shape[-1] ** -0.5).softmax(-1)
    return (weights @ values[:, -used:])[:, 0], keys, values


def _grown(x, t, keys, values, w_q, w_k, w_v):
    """Join the new token to all slots."""
    keys, values = (torch.cat((old, (x @ w)[:, None]), 1) for old, w in ((keys, w_k), (values, w_v)))
    q = x @ w_q
    return ((q[:, None] @ keys.mT * q.shape[-1] ** -0.5).softmax(-1) @ values)[:, 0], keys, values


def _beside(x, t, keys, values, w_q, w_k, w_v):
    """Look at the slots as they were and at the new token beside them: one key too many once they are full."""
    _, new_keys, new_values = _step(x, t, keys, values, w_q, w_k, w_v)
    k, v = (torch.cat((old[:, :t], (x @ w)[:, None]), 1) for old, w in ((keys, w_k), (values, w_v)))
    q = x @ w_q
    return ((q[:, None] @ k.mT * q.shape[-1] ** -0.5).softmax(-1) @ v)[:, 0], new_keys, new_values


def _token(
    room: int, t: int, *, unused: float | None = None, times: float = 1.0, seed: int = 0
) -> dict[str, Any]:
    """A step at token t, its vector made longer; slots that nobody has had may hold a number of one's choice."""
    generator = torch.Generator().manual_seed(seed)
    x, keys, values, *w = (
        torch.randn(shape, generator=generator)
        for shape in ((2, 6), (2, room, 3), (2, room, 4), (6, 3), (6, 3), (6, 4))
    )
    x = times * x
    if unused is not None:
        keys[:, t:], values[:, t:] = unused, unused
    return dict(zip(("x", "t", "keys", "values", "w_q", "w_k", "w_v"), (x, t, keys, values, *w), strict=True))


exercise(
    "decoding-step",
    "step",
    reference=lambda x, t, keys, values, w_q, w_k, w_v: _step(x, t, keys, values, w_q, w_k, w_v),
    cases=[
        *draws(b=(2, 3, 4), window=(5, 6, 7, 8), d=..., m=..., v=..., x="b m", t=lambda s, g: int(torch.randint(3 * s.window, (), generator=g)),
               keys="b window d", values="b window v", w_q="m d", w_k="m d", w_v="m v", seeds=8, large=dict(b=43, window=44)),
        case("the first token, t = 0", "No slot but its own has been used yet.", **_token(4, 0)),
        case("the token that fills the cache", **_token(4, 3)),
        case("the first token that finds no free slot", "Token 4 of a window of 4 takes the place of token 0.", **_token(4, 4)),
        case("a token far beyond the window", **_token(3, 17)),
        case("a window of one token", "A token sees itself alone.", **_token(1, 2)),
        case("a cache whose unused slots hold 1e4", "What stands in slots that no token has had must not matter.", **_token(6, 2, unused=1e4)),
        case("a cache whose unused slots hold no numbers", "They may hold anything, NaN too, and NaN times a weight of 0 is NaN. Take the used slots alone.",
             **_token(6, 2, unused=float("nan"))),
        case("a cache whose unused slots hold 1e30", "What stands in slots that no token has had must not matter.", **_token(6, 2, unused=1e30)),
        case("scores of several hundred", "e to the power of such a score is more than a number holds. Take the largest score off first, or leave it to `softmax`.",
             **_token(4, 6, times=200.0)),
        *late(case("another token that fills the cache", **_token(4, 3, seed=1)), case("other scores of several hundred", **_token(4, 6, times=200.0, seed=1))),
    ],
    promises=[precisions("float64")],
    mistakes=[
        mistake("The slots that no token has had yet are attended to. Only the first t + 1 have been used, or all.",
                lambda *a: _step(*a, seen=lambda t, room: room)),
        mistake("The new token does not see itself. Write its key and value before you look.",
                lambda *a: _step(*a, seen=lambda t, room: min(max(t, 1), room), late=True)),
        mistake("The new token's own slot is left out while the cache fills: tokens 0 to t are t + 1.",
                lambda *a: _step(*a, seen=lambda t, room: min(max(t, 1), room))),
        mistake("It looks at the old cache, in which the new token is not yet.", lambda *a: _step(*a, late=True)),
        mistake("The slots were moved up. Nothing moves in a rolling cache: token t goes into slot t mod window.", _moved),
        mistake("The cache has grown. Token t takes slot t mod window, whatever stood there.", _grown),
        mistake("Once the cache is full, w + 1 tokens are seen: the w before the new one, and itself. A window of w slots shows w tokens, "
                "the new one among them: it takes the oldest one's slot before you look.", _beside),
        mistake("Once the cache is full, each new token takes the last slot. It should take that of the oldest: t mod window.",
                lambda *a: _step(*a, slot=lambda t, room: min(t, room - 1))),
        mistake("Tokens are counted from 0: token t goes into slot t mod window, here it went one before.",
                lambda *a: _step(*a, slot=lambda t, room: (t - 1) % room)),
        mistake("Tokens are counted from 0: token t goes into slot t mod window, here it went one behind.",
                lambda *a: _step(*a, slot=lambda t, room: (t + 1) % room)),
        mistake("The cache that comes back is the old one: the new key and value are not in it.", lambda *a: _step(*a, fresh=False)),
        mistake("The scores are not scaled. Divide them by the root of the keys' width.", lambda *a: _step(*a, scale=lambda x, q: 1.0)),
        mistake("The scores are divided by the root of the token's width. The keys have a width of their own.",
                lambda *a: _step(*a, scale=lambda x, q: x.shape[-1] ** -0.5)),
        mistake("The scores are divided by the keys' width. It is its root.", lambda *a: _step(*a, scale=lambda x, q: 1 / q.shape[-1])),
        mistake("Queries and keys have changed places: the cache keeps what W_k makes.",
                lambda x, t, keys, values, w_q, w_k, w_v: _step(x, t, keys, values, w_k, w_q, w_v)),
    ],
    praise="Token t in slot t mod window, and a look at every slot that has been used, its own among them.",
)  # fmt: skip


def _padded(prompts: list[list[int]], pad: int, *, left: bool = True, real: Callable | None = None,
            places: Callable[[Tensor], Tensor] = lambda real: (real.cumsum(-1) - 1).clamp(min=0),
            mask: Callable[[Tensor], Tensor] | None = None) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    n = max(map(len, prompts))
    fill = [[pad] * (n - len(words)) for words in prompts]
    ids = torch.tensor([[*f, *w] if left else [*w, *f] for f, w in zip(fill, prompts, strict=True)])
    lengths = torch.tensor([[len(words)] for words in prompts])
    there = torch.arange(n) >= n - lengths if left else torch.arange(n) < lengths
    there = there if real is None else real(ids, pad)
    sees = _causal(there) & there[:, None] if mask is None else mask(there)
    return ids, places(there), sees


def _causal(real: Tensor) -> Tensor:
    n = real.shape[-1]
    return torch.ones(len(real), n, n, dtype=torch.bool).tril()


exercise(
    "decoding-left-padding",
    "pad_left",
    reference=lambda prompts, pad: _padded(prompts, pad),
    cases=[
        *rows("prompts pad", ([[5, 3], [7, 2, 9, 4]], 0), ([[8], [6, 5, 7], [9, 4]], 1), ([[3, 8, 2, 6, 5], [7, 4, 9]], 1),
              ([[4, 6, 5, 8, 3, 7], [9], [2, 5, 6]], 0)),
        case("prompts of one length", "Nothing is padded.", prompts=[[4, 2, 3], [6, 9, 5]], pad=0),
        case("one prompt", prompts=[[6, 2, 7, 3]], pad=1),
        case("prompts of one word", prompts=[[6], [2], [7]], pad=0),
        case("a prompt that holds the number of the padding", "That number is a word there: padding is known by the lengths.",
             prompts=[[0, 5, 0], [4, 0, 6, 8, 0], [0]], pad=0),
        *late(
            case("other words", prompts=[[6, 2], [4, 9, 3, 7]], pad=0),
            case("45 prompts of up to 12 words", prompts=[[1 + (i * j) % 50 for j in range(1 + i % 12)] for i in range(45)], pad=50),
            case("a prompt of 60 words beside one of 3", prompts=[list(range(2, 62)), [7, 8, 9]], pad=1),
        ),
    ],
    mistakes=[
        mistake("The prompts are padded on the right. Then the next word would be written behind the padding.", lambda *a: _padded(*a, left=False)),
        mistake("The places are counted from the padding on. The first word of each prompt has place 0.",
                lambda *a: _padded(*a, places=lambda real: torch.arange(real.shape[-1]).expand(real.shape))),
        mistake("The places begin with 1. The first word of each prompt has place 0.", lambda *a: _padded(*a, places=lambda real: real.cumsum(-1))),
        mistake("The places of the padding are negative. Make them 0.", lambda *a: _padded(*a, places=lambda real: real.cumsum(-1) - 1)),
        mistake("The places of the padding are negative. Make them 0.",
                lambda *a: _padded(*a, places=lambda real: torch.arange(real.shape[-1]) - (~real).sum(-1, keepdim=True))),
        mistake("Words see the padding. A key must be a word, besides being no later.", lambda *a: _padded(*a, mask=_causal)),
        mistake("Words see those after them. A key must be no later, besides being a word.",
                lambda *a: _padded(*a, mask=lambda real: real[:, None] & torch.ones_like(_causal(real)))),
        mistake("It is the queries that are checked for padding, not the keys: row i, column j says whether i may see j.",
                lambda *a: _padded(*a, mask=lambda real: _causal(real) & real[..., None])),
        mistake("The mask is turned round. True means: may attend.", lambda *a: _padded(*a, mask=lambda real: ~(_causal(real) & real[:, None]))),
        mistake("Rows and columns have changed places: each word sees itself and what comes after.",
                lambda *a: _padded(*a, mask=lambda real: (_causal(real) & real[:, None]).mT)),
        mistake("A word does not see itself. It may: j is at most i.",
                lambda *a: _padded(*a, mask=lambda real: _causal(real).tril(-1) & real[:, None])),
        mistake("A prompt may hold the number of the padding as a word. Know the padding by the lengths.",
                lambda *a: _padded(*a, real=lambda ids, pad: ids != pad)),
    ],
    praise="Padding in front, places counted from each first word, and no word sees padding or what comes later.",
)  # fmt: skip


def _shares(s, generator: torch.Generator) -> Tensor:
    return (2 * torch.randn(*s.lead, s.n, generator=generator)).softmax(-1)


def _share(s, generator: torch.Generator) -> float:
    return round(0.15 + 0.8 * float(torch.rand((), generator=generator)), 3)


def _normed(p: Tensor) -> Tensor:
    return p / p.sum(-1, keepdim=True)


def _kept(p: Tensor, share: float, stays: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """Keep words by what the sorted probabilities and their running sum say; not normed."""
    best, order = p.sort(dim=-1, descending=True, stable=True)
    which = stays(best, best.cumsum(-1)).expand_as(p)
    return p * torch.zeros_like(p, dtype=torch.bool).scatter(-1, order, which)


def _top_p(p: Tensor, share: float) -> Tensor:
    return _normed(_kept(p, share, lambda best, total: total - best < share))


def _lowest(p: Tensor, share: float) -> tuple[Tensor, Tensor]:
    """What is kept, -inf elsewhere; and the least that is kept of each row."""
    kept = _top_p(p, share)
    kept = torch.where(kept > 0, p, -torch.inf)
    return kept, p.where(kept > 0, torch.inf).amin(-1, keepdim=True)


def _first_row(p: Tensor, share: float) -> Tensor:
    counts = (p.sort(-1, descending=True)[0].cumsum(-1) < share).sum(-1).flatten()
    return _normed(_kept(p, share, lambda best, total: torch.arange(p.shape[-1]) <= counts[0]))


exercise(
    "decoding-top-p",
    "top_p",
    reference=lambda p, share: _top_p(p, share),
    cases=[
        *draws(n=..., p=_shares, share=_share, lead=[(2,), (), (3,), (4, 2)], seeds=12),
        case("the probabilities 1/2, 1/4, 1/8, 1/8 and a share of 3/4", "Two words have exactly that share.",
             p=torch.tensor([0.5, 0.25, 0.125, 0.125]), share=0.75),
        case("four equal words and a share of one half", "Any two would do; the earlier in the vocabulary are kept.", p=torch.full((4,), 0.25), share=0.5),
        case("a best word with more than the share", "It stays by itself: one word is always kept.", p=torch.tensor([0.125, 0.75, 0.125]), share=0.5),
        case("a share of 1", "All words are kept.", p=torch.tensor([0.125, 0.5, 0.125, 0.25]), share=1.0),
        case("rows of which one needs one word, the other four", "Each row has a number of words of its own.",
             p=torch.tensor([[0.0625, 0.8125, 0.0625, 0.0625], [0.25, 0.25, 0.25, 0.25]]), share=0.8),
        case("a word that cannot come", p=torch.tensor([0.0, 0.5, 0.5]), share=0.9),
        *late(case("the probabilities 1/8, 1/8, 1/4, 1/2 and a share of 3/4", p=torch.tensor([0.125, 0.125, 0.25, 0.5]), share=0.75)),
    ],
    promises=[precisions("float64")],
    mistakes=[
        mistake("The word that crosses the share is left out. Keep it: the words kept must have the share.",
                lambda p, share: _normed(_kept(p, share, lambda best, total: total <= share))),
        mistake("The word that reaches the share is left out. Keep it: the words kept must have the share.",
                lambda p, share: _normed(_kept(p, share, lambda best, total: total < share))),
        mistake("Where the words kept have exactly the share, one more is kept.",
                lambda p, share: _normed(_kept(p, share, lambda best, total: total - best <= share))),
        mistake("What is kept does not sum to 1. Divide by its sum.", lambda p, share: _kept(p, share, lambda best, total: total - best < share)),
        mistake("The probabilities come back in sorted order. Each belongs to its word.",
                lambda p, share: _normed((lambda best: best * (best.cumsum(-1) - best < share))(p.sort(-1, descending=True)[0]))),
        mistake("That is min-p: a share of the best word's probability. Top-p sums up.",
                lambda p, share: _normed(p * (p >= share * p.amax(-1, keepdim=True)))),
        mistake("That is min-p with 1 − share. Top-p sums up.", lambda p, share: _normed(p * (p >= (1 - share) * p.amax(-1, keepdim=True)))),
        mistake("The words are summed up in the order of the vocabulary. Begin with the most probable.",
                lambda p, share: _normed(p * (p.cumsum(-1) - p < share))),
        mistake("The least probable words are kept. Begin with the most probable.",
                lambda p, share: _normed((lambda best, order: p * torch.zeros_like(p, dtype=torch.bool).scatter(-1, order, best.cumsum(-1) - best < share))(*p.sort(-1)))),
        mistake("A second softmax stands where a division belongs.",
                lambda p, share: _lowest(p, share)[0].softmax(-1)),
        mistake("All rows keep as many words as the first one.", _first_row),
        mistake("Equal words are all kept. Keep the fewest; of equals, the earlier in the vocabulary.",
                lambda p, share: _normed(p * (p >= _lowest(p, share)[1]))),
    ],
    praise="The fewest words that have the share, row by row, the one that crosses it among them, and they sum to 1.",
)  # fmt: skip


def _verify(
    drafted: Tensor, p_draft: Tensor, p: Tensor, u: Tensor, *,
    keeps: Callable[[float, float, float], bool] = lambda u, p, q: u * q < p,
    left: Callable[[Tensor, Tensor], Tensor] = lambda p, q: _normed((p - q).clamp(min=0)),
    last: int = 0, ahead: int = 0,
) -> tuple[int, Tensor]:  # fmt: skip
    """How many words are kept, and of what the next is drawn; the options are what can go wrong."""
    n = len(drafted)
    for i, word in enumerate(drafted.tolist()):
        if not keeps(u[i].item(), p[i, word].item(), p_draft[i, word].item()):
            return i, left(p[i + ahead], p_draft[i])
    return n, p[max(n - last, 0)]


def _counted(drafted, p_draft, p, u):
    """Go on behind a word that was refused."""
    at = torch.arange(len(drafted))
    keep = u * p_draft[at, drafted] < p[at, drafted]
    kept, n = int(keep.sum()), len(drafted)
    return (n, p[n]) if kept == n else (kept, _normed((p[kept] - p_draft[kept]).clamp(min=0)))


def _whole(scores: Tensor) -> Tensor:
    """Probabilities in steps of 1/4096: they sum to exactly 1 in every precision."""
    p = (scores.softmax(-1) * 4096).round().clamp(min=1)
    best = p.argmax(-1, keepdim=True)
    return p.scatter_add(-1, best, 4096 - p.sum(-1, keepdim=True)) / 4096


def _draft(n: int, words: int, seed: int) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    base = torch.randn(n + 1, words, generator=generator)
    q = _whole(base + 0.6 * torch.randn(n + 1, words, generator=generator))[:n]
    drafted = torch.multinomial(q, 1, generator=generator)[:, 0] if n else torch.zeros(0, dtype=torch.long)
    return {"drafted": drafted, "p_draft": q, "p": _whole(base), "u": torch.rand(n, generator=generator)}


_Q = torch.tensor([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25]])
_P = torch.tensor([[0.25, 0.5, 0.25], [0.5, 0.0, 0.5], [0.125, 0.125, 0.75]])

exercise(
    "decoding-verify",
    "verify",
    reference=lambda drafted, p_draft, p, u: _verify(drafted, p_draft, p, u),
    cases=[replace(one, exact=True) for one in (
        *(case(f"a draft of {n} words out of {words}", **_draft(n, words, seed)) for seed, (n, words) in enumerate(
            [(4, 6), (2, 5), (6, 9), (3, 4), (5, 7), (7, 11), (1, 3), (8, 5), (4, 12), (6, 3), (9, 8), (3, 10)])),
        case("no draft at all", "One word is drawn, as without a draft.", **_draft(0, 4, 1)),
        case("a draft that is kept whole", "The next word is drawn from the last row of p.", drafted=torch.tensor([1, 0]), p_draft=_Q, p=_P, u=torch.tensor([0.9, 0.9])),
        case("a word that the model never says, and u = 0", "p is 0 there: it must be refused.", drafted=torch.tensor([2, 1]), p_draft=_Q, p=_P, u=torch.zeros(2)),
        case("a first word that is refused", "p is half of p_draft, and u is larger.", drafted=torch.tensor([0, 2]), p_draft=_Q, p=_P, u=torch.tensor([0.75, 0.0])),
        case("a draft of the model itself", "Both probabilities are equal everywhere.", drafted=torch.tensor([0, 2]), p_draft=_P[:2], p=_P, u=torch.tensor([0.99, 0.99])),
        *late(*(case(f"a draft of {n} words out of {words}", **_draft(n, words, seed)) for n, words, seed in ((4, 6, 20), (45, 5, 21), (3, 45, 22)))),
        *late(case("45 words, all kept", **_draft(45, 44, 23) | {"u": torch.zeros(45)})),
        *late(case("the first draft again, u near 1", **_draft(4, 6, 0) | {"u": torch.full((4,), 0.98)})),
    )],
    promises=[precisions("float64")],
    mistakes=[
        mistake("A word is kept only if the model likes it at least as well as the draft. Keep it with probability p/p_draft otherwise.",
                lambda *a: _verify(*a, keeps=lambda u, p, q: p >= q)),
        mistake("A word is kept only if the model likes it better than the draft. Keep it with probability p/p_draft otherwise.",
                lambda *a: _verify(*a, keeps=lambda u, p, q: p > q)),
        mistake("It is kept with probability p. Divide by what the draft gave it: p/p_draft.", lambda *a: _verify(*a, keeps=lambda u, p, q: u < p)),
        mistake("The ratio is upside down: keep a word with probability p/p_draft.", lambda *a: _verify(*a, keeps=lambda u, p, q: u * p < q)),
        mistake("A word is kept where it should be refused, and refused where it should be kept: keep it if u < p/p_draft.",
                lambda *a: _verify(*a, keeps=lambda u, p, q: u * q >= p)),
        mistake("After a refusal the next word is drawn from p. What the draft already covers must come off: max(0, p − p_draft).",
                lambda *a: _verify(*a, left=lambda p, q: p)),
        mistake("max(0, p − p_draft) does not sum to 1. Divide by its sum.", lambda *a: _verify(*a, left=lambda p, q: (p - q).clamp(min=0))),
        mistake("That is |p − p_draft|. Words of which the draft had too many get nothing: max(0, p − p_draft).",
                lambda *a: _verify(*a, left=lambda p, q: _normed((p - q).abs()))),
        mistake("That is max(0, p_draft − p): it draws what the draft had too many of.", lambda *a: _verify(*a, left=lambda p, q: _normed((q - p).clamp(min=0)))),
        mistake("After a refusal the next word is drawn from p_draft.", lambda *a: _verify(*a, left=lambda p, q: q)),
        mistake("After a refusal everything behind it is dropped, kept or not. Stop at the first.", _counted),
        mistake("The refused word's own place is drawn anew: p of that place, not of the next.", lambda *a: _verify(*a, ahead=1)),
        mistake("The draft was kept whole, so the next word is drawn from p's last row, not from the one before.", lambda *a: _verify(*a, last=1)),
        mistake("The word that is refused is counted as kept.",
                lambda drafted, *a: (lambda kept, rest: (kept + (kept < len(drafted)), rest))(*_verify(drafted, *a))),
    ],
    praise="Kept with probability p/p_draft up to the first refusal; then what the draft gave too little to, or the last row.",
)  # fmt: skip
