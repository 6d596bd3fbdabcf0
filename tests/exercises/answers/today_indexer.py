"""Whom an indexer chooses: the best keys up to the query, the earlier of equal ones, as a mask."""

import torch

from answers import right, wrong
from attnlab.selection import index_scores, selection_mask, top_keys


def scored(q, k, w):
    return torch.stack([w[:, h, None] * (q[h] @ k.T).clamp(min=0) for h in range(len(q))]).sum(0)


def causal(n):
    return torch.arange(n) <= torch.arange(n)[:, None]


def ranks(s, top, may):
    """Whoever has fewer than `top` better ones is chosen; an earlier one is better than its equal."""
    s = s.masked_fill(~may, -torch.inf)
    earlier = torch.arange(len(s)) < torch.arange(len(s))[:, None]
    better = (s[:, None, :] > s[..., None]) | (s[:, None, :] == s[..., None]) & earlier
    return better.sum(-1) < top


def mask(score=scored, may=lambda past: past, shown=lambda past: past, pick=ranks, more=0):
    """Right; or with something changed."""

    def answer(q, k, w, top):
        past = causal(len(k))
        return pick(score(q, k, w), top + more, may(past)) & shown(past)

    return answer


right(mask(), "ranks")


@right
def row_by_row(q, k, w, top):
    s, seen = scored(q, k, w), torch.zeros(len(k), len(k), dtype=torch.bool)
    for i, row in enumerate(s.tolist()):
        for j in sorted(range(i + 1), key=lambda j: -row[j])[:top]:
            seen[i, j] = True
    return seen


@right
def the_package(q, k, w, top):
    return selection_mask(top_keys(index_scores(q, k, w), top, mask=causal(len(k))), len(k))


@right
def a_threshold_and_who_comes_first(q, k, w, top):
    """All above the last of the best, and of its equals as many as there is room for."""
    s = scored(q, k, w).masked_fill(~causal(len(k)), -torch.inf)
    least = s.topk(min(top, len(k))).values[:, -1:]
    above, equal = s > least, s == least
    return (above | equal & (equal.cumsum(-1) <= top - above.sum(-1, keepdim=True))) & causal(len(k))


@right
def places_that_grow(q, k, w, top):
    s = scored(q, k, w)
    seen = torch.zeros_like(s, dtype=torch.bool)
    for i in range(len(k)):
        seen[i, s[i, : i + 1].sort(descending=True, stable=True).indices[:top]] = True
    return seen


# The scores.
wrong("relu is applied to the sum over heads")(
    mask(lambda q, k, w: torch.einsum("hid,jd,ih->ij", q, k, w).relu()), "relu of the sum"
)
wrong("relu is applied to what has been weighted")(
    mask(lambda q, k, w: torch.einsum("hid,jd,ih->hij", q, k, w).relu().sum(0)), "relu of the parts"
)
wrong("relu is missing")(mask(lambda q, k, w: torch.einsum("hid,jd,ih->ij", q, k, w)), "no relu")
wrong("Products below 0 count by their size")(
    mask(lambda q, k, w: torch.einsum("hij,ih->ij", (q @ k.T).square().sqrt(), w)), "no sign"
)
wrong("should be")(mask(lambda q, k, w: torch.einsum("hij,ih->ij", (q @ k.T).relu() ** 2, w)), "squared")
wrong("The weights are those of the keys")(
    mask(lambda q, k, w: torch.einsum("hij,jh->ij", (q @ k.T).relu(), w)), "weights of keys"
)
wrong("heads count alike")(mask(lambda q, k, w: (q @ k.T).relu().mean(0)), "a mean")
wrong("The weights have lost their sign")(mask(lambda q, k, w: scored(q, k, w.abs())), "weights without sign")
wrong("should be")(mask(lambda q, k, w: scored(q, k, w.relu())), "negative heads silent")
wrong("The weights go through a softmax")(
    mask(lambda q, k, w: scored(q, k, (w - w.logsumexp(1, True)).exp())), "softmax of the weights"
)
wrong("The largest head decides")(
    mask(lambda q, k, w: (w.T.unsqueeze(-1) * (q @ k.T).relu()).max(0).values), "the loudest head"
)
wrong("Only the first head is asked")(mask(lambda q, k, w: w[:, :1] * (q[0] @ k.T).relu()), "one head")
wrong("should be")(mask(lambda q, k, w: (k @ k.T) + 0 * w[:, :1]), "keys asking keys")
wrong("should be")(mask(lambda q, k, w: scored(q.flip(0), k, w)), "weights of other heads")


@wrong("Each head chooses for itself")
def a_choice_each(q, k, w, top):
    seen = causal(len(k)) & False
    for h in range(len(q)):
        seen |= ranks(w[:, h, None] * (q[h] @ k.T).relu(), top, causal(len(k))) & causal(len(k))
    return seen


# Among which keys.
wrong("Later keys take part in the choice")(mask(may=torch.ones_like), "hidden afterwards")
wrong("Later keys are chosen and seen")(mask(may=torch.ones_like, shown=torch.ones_like), "not causal")


@wrong("hidden ones are chosen as well")
def not_hidden_again(q, k, w, top):
    s = scored(q, k, w).masked_fill(~causal(len(k)), -torch.inf)
    best = torch.sort(s, dim=-1, descending=True, stable=True).indices[:, :top]
    return torch.zeros_like(s).scatter(1, best, 1.0).bool()


wrong("A token never sees itself")(mask(may=lambda p: p.tril(-1), shown=lambda p: p.tril(-1)), "not itself")
wrong("A token sees itself in any case")(
    lambda q, k, w, top: mask()(q, k, w, top).fill_diagonal_(True), "itself in any case"
)
wrong("should be")(
    lambda q, k, w, top: (mask(more=-1)(q, k, w, top) if top > 1 else causal(len(k)) & False).fill_diagonal_(
        True
    ),
    "itself, and one fewer",
)

wrong("should be")(
    mask(pick=lambda s, top, may: ranks(s.masked_fill(~may, -1e4), top, torch.ones_like(may))),
    "later keys at -10,000",
)

wrong("Hide them with −∞")(
    mask(pick=lambda s, top, may: ranks(s.masked_fill(~may, -1e15), top, torch.ones_like(may)) & may),
    "later keys at -10¹⁵, hidden again",
)
wrong("in half precision")(
    mask(lambda q, k, w: scored(*(x.to(torch.bfloat16) for x in (q, k, w)))), "everything in bfloat16"
)

# Which of them.
wrong("a threshold lets all of them in")(
    mask(
        pick=lambda s, top, may: (
            lambda s: s >= s.sort(descending=True).values[:, min(top, len(s)) - 1, None]
        )(s.masked_fill(~may, -torch.inf))
    ),
    "no less than the last of the best",
)


@wrong("Choose the earlier one")
def the_later_of_equals(q, k, w, top):
    s, seen = scored(q, k, w), torch.zeros(len(k), len(k), dtype=torch.bool)
    for i, row in enumerate(s.tolist()):
        for j in sorted(range(i, -1, -1), key=lambda j: -row[j])[:top]:
            seen[i, j] = True
    return seen


@wrong("Places are added to the scores")
def a_little_less_for_each_place(q, k, w, top):
    past = causal(len(k))
    s = (scored(q, k, w) - 1e-4 * torch.arange(len(k))).masked_fill(~past, -torch.inf)
    return torch.zeros_like(past).scatter(-1, s.topk(min(top, len(k))).indices, True) & past


wrong("A key that scores 0 or less is never chosen")(
    mask(pick=lambda s, top, may: ranks(s, top, may & (s > 0)) & (s > 0)), "what is wanted"
)
wrong("the keys that fit worst")(mask(pick=lambda s, top, may: ranks(0 - s, top, may)), "the worst")


@wrong("Each key chooses its queries")
def queries_chosen(q, k, w, top):
    """The sort goes down the columns."""
    s = scored(q, k, w).masked_fill(~causal(len(k)), -torch.inf)
    order = s.flip(0).sort(dim=0, descending=True, stable=True).indices[:top]
    return (torch.zeros_like(s).scatter(0, order, 1.0) > 0).flip(0) & causal(len(k))


wrong("The mask is transposed")(lambda *given: mask()(*given).T, "transposed")
wrong("It chooses the nearest keys")(
    lambda q, k, w, top: causal(len(k)) & (torch.arange(len(k)) > torch.arange(len(k))[:, None] - top),
    "a window",
)
wrong("one key too many")(mask(more=1), "one more")
wrong("one key too few")(mask(more=-1), "one fewer")
wrong("It sees everything before it")(lambda q, k, w, top: causal(len(k)), "all of them")
# What is returned.
wrong("should hold True and False")(lambda *given: mask()(*given).float(), "numbers")
wrong("should")(lambda q, k, w, top: top_keys(index_scores(q, k, w), top, mask=causal(len(k))), "places")
