"""The check of a draft: each word kept with probability p/p_draft, up to the first refusal."""

import numpy as np
import torch

from answers import right, wrong


def normed(x):
    return x / x.sum()


def verify(
    drafted, p_draft, p, u, *, refuses=lambda u, p, q: u * q >= p, rest=lambda p, q: normed(torch.relu(p - q))
):
    """Right; or with something changed."""
    for i, word in enumerate(drafted.tolist()):
        if refuses(u[i], p[i, word], p_draft[i, word]):
            return i, rest(p[i], p_draft[i])
    return len(drafted), p[-1]


def drawn_from(rest):
    """After a refusal the next word is drawn from something else."""
    return lambda *a: verify(*a, rest=rest)


def kept_unless(refuses):
    return lambda *a: verify(*a, refuses=refuses)


right(lambda *a: [np.int64(verify(*a)[0]), verify(*a)[1]], "a list, a number of NumPy's")
right(lambda *a: (torch.tensor(verify(*a)[0]), verify(*a)[1]), "a tensor for the number")


@right
def at_once(drafted, p_draft, p, u):
    at = torch.arange(len(drafted))
    refused = (u >= p[at, drafted] / p_draft[at, drafted]).nonzero()
    if not len(refused):
        return len(drafted), p[-1]
    i = refused[0, 0]
    return i, normed(torch.relu(p[i] - p_draft[i]))


@right
def a_row_of_zeros_behind_the_draft(drafted, p_draft, p, u):
    i = verify(drafted, p_draft, p, u)[0]
    return i, normed((p[i] - torch.cat((p_draft, torch.zeros_like(p[:1])))[i]).clamp(min=0))


@wrong("Stop at the first")
def goes_on(drafted, p_draft, p, u):
    at = torch.arange(len(drafted))
    kept = int((u < p[at, drafted] / p_draft[at, drafted]).sum())
    return (kept, p[kept]) if kept == len(drafted) else (kept, normed((p[kept] - p_draft[kept]).clamp(min=0)))


@wrong("p of that place, not of the next")
def p_of_the_next_place(drafted, p_draft, p, u):
    kept, rest = verify(drafted, p_draft, p, u)
    return (kept, rest) if kept == len(drafted) else (kept, normed((p[kept + 1] - p_draft[kept]).relu()))


@wrong("The word that is refused is counted as kept")
def counted_as_kept(drafted, p_draft, p, u):
    kept = 0
    for i, word in enumerate(drafted):
        kept += 1
        if u[i] >= p[i, word] / p_draft[i, word]:
            return kept, normed((p[i] - p_draft[i]).relu())
    return kept, p[kept]


@wrong("the next word is drawn from p's last row")
def the_row_before_the_last(drafted, p_draft, p, u):
    kept, rest = verify(drafted, p_draft, p, u)
    return kept, p[max(kept - 1, 0)] if kept == len(drafted) else rest


wrong("if the model likes it at least as well as the draft")(kept_unless(lambda u, p, q: p < q), "greedy")
wrong("if the model likes it better than the draft")(kept_unless(lambda u, p, q: p <= q), "strictly greedy")
wrong("It is kept with probability p.")(kept_unless(lambda u, p, q: u >= p), "with probability p")
wrong("The ratio is upside down")(kept_unless(lambda u, p, q: u >= q / p), "the ratio turned round")
wrong("kept where it should be refused")(kept_unless(lambda u, p, q: u < p / q), "refused for kept")
wrong("should be")(kept_unless(lambda u, p, q: (u - 1e-6).clamp(min=-1) * q >= p), "at most, not below")
wrong("What the draft already covers must come off")(drawn_from(lambda p, q: p), "from p")
wrong("does not sum to 1")(drawn_from(lambda p, q: (p - q).relu()), "not divided")
wrong("That is |p − p_draft|")(drawn_from(lambda p, q: normed((p - q).abs())), "the distance of both")
wrong("That is max(0, p_draft − p)")(
    drawn_from(lambda p, q: normed((q - p).relu())), "what the draft had too much"
)
wrong("the next word is drawn from p_draft")(drawn_from(lambda p, q: q), "from p_draft")
wrong("should be")(drawn_from(lambda p, q: normed((p - q).relu() ** 2)), "what is missing, squared")
wrong("should be")(drawn_from(lambda p, q: normed((p > q).to(p.dtype))), "even among what is missing")
wrong("should be")(drawn_from(lambda p, q: normed(p + q)), "the mean of both")


@wrong("should be")
def p_without_the_refused_word(drafted, p_draft, p, u):
    kept, rest = verify(drafted, p_draft, p, u)
    if kept == len(drafted):
        return kept, rest
    return kept, normed(p[kept] * (torch.arange(p.shape[1]) != drafted[kept]))


wrong("should be")(lambda d, q, p, u: (len(d), p[-1]), "all kept")
wrong("should")(lambda d, q, p, u: verify(d[:0], q[:0], p[:1], u[:0]), "none kept")
wrong("should be")(
    lambda d, q, p, u: (int((u * q[range(len(d)), d] < p[range(len(d)), d]).sum()), verify(d, q, p, u)[1]),
    "counted behind a refusal",
)
wrong("should be")(
    lambda d, q, p, u: verify(d, q, p, u[:1].expand(len(u)) if len(u) else u), "one chance for all"
)
wrong("should be")(lambda d, q, p, u: verify(d, q, p, torch.rand(len(u))), "a chance of its own")
wrong("should")(lambda d, q, p, u: verify(d, p[:-1], torch.cat((q, p[-1:])), u), "model and draft exchanged")
wrong("should")(lambda *a: (verify(*a)[0], int(verify(*a)[1].argmax())), "the word drawn")
wrong("should")(lambda d, *a: (d[: verify(d, *a)[0]], verify(d, *a)[1]), "the words kept")
wrong("in float64")(lambda d, *a: verify(d, *(t.float() for t in a)), "in single precision")
