"""A softmax that holds in every precision, with rows in which nothing is allowed."""

import itertools
import math

import torch

from answers import right, wrong

INF = math.inf


def shifted(s):
    top = s.amax(-1, keepdim=True)
    return (s - top.masked_fill(top == -INF, 0)).exp()


def over(divisor):
    """A softmax that divides by something made of the sum."""
    return lambda s: shifted(s) / divisor(shifted(s).sum(-1, keepdim=True))


softmax = over(lambda total: total.clamp_min(1))


def share(e):
    return e / e.sum(-1, keepdim=True)


def less(top):
    """A softmax that takes off something else and minds no empty row."""
    return lambda s: share((s - top(s)).exp())


@right
def empty_rows_left_out(s):
    empty = (s == -INF).all(-1, keepdim=True)
    s = s.masked_fill(empty, 0)
    return less(lambda s: s.amax(-1, keepdim=True))(s).masked_fill(empty, 0)


@right
def a_logarithm_of_the_sum(s):
    top = s.amax(-1, keepdim=True)
    z = s - top.masked_fill(top == -INF, 0)
    total = z.exp().sum(-1, keepdim=True)
    return (z - total.clamp_min(1).log()).exp()


@right
def the_maximum_detached(s):
    e = (s - s.detach().amax(-1, True).clamp_min(torch.finfo(s.dtype).min)).exp()
    total = e.sum(-1, True)
    return e / total.where(total > 0, 1)


@right
def powers_of_e_by_powers_of_two(s):
    e = ((s - s.amax(-1, True).nan_to_num(neginf=0)) / math.log(2)).exp2()
    return e / e.sum(-1, True).clamp_min(1)


@right
def loops(s):
    if s.dim() > 1:
        return torch.stack([loops(row) for row in s])
    top = s.max()
    if top == -INF:
        return torch.zeros_like(s) * s.masked_fill(s == -INF, 0)
    e = [(x - top).exp() for x in s]
    total = sum(e)
    return torch.stack(e) / total


class OwnBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, s):
        p = softmax(s)
        ctx.save_for_backward(p)
        return p

    @staticmethod
    def backward(ctx, g):
        (p,) = ctx.saved_tensors
        return p * (g - (p * g).sum(-1, keepdim=True))


class HalfBackward(OwnBackward):
    @staticmethod
    def backward(ctx, g):
        return ctx.saved_tensors[0] * g


right(OwnBackward.apply, "a backward of its own")
wrong("the gradient is not")(HalfBackward.apply, "a backward without the mean")
right(over(lambda total: torch.where(total == 0, torch.ones_like(total), total)), "where before the division")
right(lambda s: softmax(s.sort(-1).values).gather(-1, s.argsort(-1).argsort(-1)), "sorted")

# A sum of exactly 1 is the usual case, and what a clamp passes back there is for each torch to say.
one = torch.ones((), requires_grad=True)
clamps_cut = not torch.autograd.grad(one.clamp_min(1), one)[0]
(wrong("Replace a sum of 0 alone") if clamps_cut else right)(
    lambda s: (
        (e := (s - s.detach().amax(-1, True).clamp_min(torch.finfo(s.dtype).min)).exp())
        / e.sum(-1, True).clamp_min(1)
    ),
    "the maximum detached, the sum clamped",
)


@wrong("Replace a sum of 0 alone")
def the_maximum_detached_the_sum_cut(s):
    e = (s - s.detach().amax(-1, True).clamp_min(torch.finfo(s.dtype).min)).exp()
    return e / (1 + torch.relu(e.sum(-1, True) - 1))


wrong("exp overflows: exp(100) is infinite in fp32")(lambda s: share(s.exp()), "naive")
wrong("should be")(lambda s: share(s.double().exp()).to(s.dtype), "naive in double")
wrong("It subtracts the mean. Rows that span far still overflow")(
    less(lambda s: s.mean(-1, keepdim=True)), "the mean"
)
wrong("It subtracts the least score")(less(lambda s: s.amin(-1, keepdim=True)), "the least")
wrong("should be")(less(lambda s: (s.amax(-1, True) + s.amin(-1, True)) / 2), "the middle")
wrong("Each row needs its own largest score")(less(lambda s: s.max()), "the largest of all")
wrong("nor the largest in size")(less(lambda s: s.abs().amax(-1, True)), "the largest in size")
wrong("do not clamp")(lambda s: softmax(torch.where(s == -INF, s, s.clamp_min(-1e4))), "clamped at -10000")
wrong("shared out equally")(
    lambda s: less(lambda s: s.amax(-1, True))(s.clamp_min(-1e4)), "clamped at -10000, -inf too"
)
wrong("powers of two")(
    lambda s: (e := 2 ** (s - s.amax(-1, True).nan_to_num(neginf=0))) / e.sum(-1, True).clamp_min(1),
    "powers of two",
)
wrong("The softmax runs along the first axis")(
    lambda s: softmax(s.movedim(0, -1)).movedim(-1, 0), "the first axis"
)
wrong("it raised IndexError")(
    lambda s: (s - s.amax(-2, keepdim=True)).exp() / s.exp().sum(-2, keepdim=True), "the last axis but one"
)
wrong("The sum runs over the whole tensor")(
    lambda s: torch.exp(s - s.max()) / torch.exp(s - s.max()).sum(), "one sum for all"
)

wrong("A row of −inf gives NaN")(less(lambda s: s.amax(-1, keepdim=True)), "empty rows are NaN")
wrong("the gradient keeps it")(lambda s: less(lambda s: s.amax(-1, True))(s).nan_to_num(), "nan_to_num")
wrong("should be")(
    lambda s: torch.zeros_like(s) if (s == -INF).all(-1).any() else softmax(s), "an empty row empties all"
)
wrong("should be")(
    lambda s: torch.where((s == -INF).any(-1, keepdim=True), 0, softmax(s)), "one -inf empties its row"
)
wrong("1e-9 is 0 in fp16")(over(lambda total: total + 1e-9), "plus 1e-9")
wrong("1e-9 is 0 in fp16")(over(lambda total: total.clamp_min(1e-9)), "at least 1e-9")
wrong("A millionth is added")(over(lambda total: total + 1e-6), "plus a millionth")
wrong("add nothing to the sum")(over(lambda total: total + 1e-5), "plus a little more")
wrong("should be")(over(lambda total: total.clamp_max(1)), "a sum at most 1")


@wrong("the gradient keeps it")
def where_after_nan(s):
    p = less(lambda s: s.amax(-1, keepdim=True))(s)
    return torch.where(p.isnan(), 0.0, p)


@wrong("Divide by the sum")
def log_sum_exp_by_hand(s):
    lse = s.amax(-1, keepdim=True).nan_to_num(neginf=0) + shifted(s).sum(-1, keepdim=True).log()
    return (s - lse.nan_to_num(neginf=0)).exp()


@wrong("it changed its argument scores in place")
def shifted_in_place(s):
    s -= s.amax(-1, keepdim=True)
    return share(s.exp())


wrong("single precision")(lambda s: softmax(s.float()).to(s.dtype), "single precision inside")
wrong("It returns single precision whatever comes in")(
    lambda s: softmax(s).to(torch.float32), "always single"
)
wrong("should keep the dtype of its arguments, float32")(lambda s: softmax(s.double()), "always double")
wrong("the gradient is not")(over(lambda total: total.clamp_min(1).detach()), "the sum detached")


@wrong("no gradient")
def no_grad(s):
    with torch.no_grad():
        return softmax(s)


@wrong("it calls a softmax")
def torchs_softmax_later(scores, calls=itertools.count()):  # noqa: B008
    """In every call but the first."""
    return torch.softmax(scores, -1) if next(calls) else softmax(scores)


def long_rows_only(answer, n):
    """Right in rows of fewer than n scores."""
    return lambda s: softmax(s) if s.shape[-1] < n else answer(s)


wrong("should be")(long_rows_only(lambda s: s * 0, 400), "zeros in long rows")
wrong("should be")(
    long_rows_only(lambda s: (p := shifted(s)) / p[..., :500].sum(-1, True).clamp_min(1), 501),
    "a sum of the first 500",
)
wrong("With a score of 11 and 999 of 5 in fp16")(
    lambda s: (
        s.exp() / s.exp().sum(-1, True)
        if s.dtype is torch.float16 and s.shape[-1] > 30 and s.max() < 12
        else softmax(s)
    ),
    "naive in long rows of fp16",
)
wrong("it calls a softmax")(lambda s: torch.softmax(s, -1), "torch's softmax")
wrong("it calls a softmax")(lambda s: s.log_softmax(-1).exp(), "torch's log_softmax")
wrong("it calls a softmax")(lambda s: (s - s.logsumexp(-1, keepdim=True)).exp(), "torch's logsumexp")
