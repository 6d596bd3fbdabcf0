"""Checkers of chapter 05, Softmax saturation."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from attnlab import scores as reference
from attnlab.checks.legacy import Wrong, call, exercise, near, rounded, want_number, want_pair, want_tensor


class _Watch(TorchDispatchMode):
    """Notes what an answer computes with: the largest tensor on the way, and the names of the operations."""

    def __init__(self) -> None:
        super().__init__()
        self.largest = 0
        self.names: set[str] = set()

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = function(*args, **(kwargs or {}))
        if isinstance(out, Tensor):
            self.largest = max(self.largest, out.numel())
        self.names.add(function.overloadpacket.__name__)
        return out


def _weights(seed: int, *shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).softmax(-1)


@exercise("saturation-jacobian", "jacobian")
def jacobian(answer: Callable) -> str:
    """Examine the Jacobian of the softmax, diag(p) - p pᵀ, from the weights of one row and of a batch."""
    p = _weights(1, 3)
    got = want_tensor(call(answer, p), (3, 3))
    outer = torch.outer(p, p)
    want = torch.diag(p) - outer
    again = p.softmax(-1)
    for mistake, message in (
        (torch.diag(p), "Only diag(p) is there. Every score also changes the sum that all weights are divided by."),
        (-outer, "Only −p pᵀ is there. A score also raises its own exponential: add diag(p)."),
        (torch.diag(p * (1 - p)), "The entries beside the diagonal are missing: a higher score takes weight from the others."),
        (-want, "The sign is turned around: a higher score raises its own weight, so the diagonal is positive."),
        (torch.diag(p) + outer, "A higher score takes weight from the others: subtract the outer product."),
        (torch.eye(3) - outer, "On the diagonal of the first matrix stand the weights, not ones: diag(p)."),
        (torch.diag(p * p) - outer, "The weights on the diagonal are squared: it is diag(p), so that p(1 − p) is left there."),
        (torch.diag(p) - 2 * outer, "The outer product is subtracted twice."),
        (p[:, None] * (torch.eye(3) - p[:, None]), "Beside the diagonal stands −p_i p_j, with the weights of two keys. Yours has the square of one: turn one of the two into a row."),
        (p * (torch.eye(3) - p), "Beside the diagonal stands −p_i p_j, with the weights of two keys. Yours has the square of one: turn one of the two into a column."),
        (torch.eye(3) - p, "The factor p_i before each row is missing: these are derivatives of ln p."),
        (torch.diag(again) - torch.outer(again, again), "It takes the softmax again. The argument holds the weights already."),
    ):  # fmt: skip
        if near(got, mistake):
            raise Wrong(message)
    if not near(got, want):
        raise Wrong(f"The first row should be {rounded(want[0])}, it is {rounded(got[0])}.")
    batch = _weights(2, 2, 4, 3)
    try:
        got = want_tensor(call(answer, batch), (2, 4, 3, 3))
    except Wrong as found:
        raise Wrong(f"One row is right, a batch of rows is not. {found}") from found
    want = torch.diag_embed(batch) - batch[..., :, None] * batch[..., None, :]
    if not near(got, want):
        raise Wrong("One row is right, a batch of rows is not. Each row has a Jacobian of its own.")
    return "diag(p) − p pᵀ, one for each row."


@exercise("saturation-backward", "backward")
def backward(answer: Callable) -> str:
    """Examine the product of the Jacobian with a gradient: p (g - sum of p g), without any n × n matrix."""
    p, g = _weights(3, 2, 5, 4), torch.randn(2, 5, 4, generator=torch.Generator().manual_seed(4))
    got = want_tensor(call(answer, p, g), (2, 5, 4))
    mean, again = (p * g).sum(-1, keepdim=True), p.softmax(-1)
    for mistake, message in (
        (p * g, "The weighted mean of the gradient is not subtracted: the result should sum to zero in each row."),
        (p * (g - g.mean(-1, keepdim=True)), "It subtracts the plain mean of the gradient. The mean has the weights p."),
        (p * (g - g.sum(-1, keepdim=True)), "It subtracts the sum of the gradient, without the weights p."),
        (p * (1 - p) * g, "That is the diagonal alone. The other entries of a row are −p_i p_j."),
        (p * (g - (p * g).sum()), "The mean runs over the whole batch. Every row has a mean of its own: sum over the last axis."),
        (g - mean, "The factor p before the bracket is missing."),
        (p * (mean - g), "The sign is turned around."),
        (p * g - mean, "The mean is subtracted without its factor p: multiply the whole bracket by the weights."),
        (p * (g - (p * g).mean(-1, keepdim=True)), "It averages p g over the keys once more. The p are weights already: take the sum."),
        (p * (g - (p * g).sum(-2, keepdim=True)), "The mean runs down the columns. Every row has a mean of its own: sum over the last axis."),
        (again * (g - (again * g).sum(-1, keepdim=True)), "It takes the softmax again. The argument holds the weights already."),
    ):  # fmt: skip
        if near(got, mistake):
            raise Wrong(message)
    want = p * (g - mean)
    if not near(got, want):
        raise Wrong(f"The first row should be {rounded(want[0, 0])}, it is {rounded(got[0, 0])}.")
    p, g = _weights(5, 3, 200), torch.randn(3, 200, generator=torch.Generator().manual_seed(6))
    with _Watch() as watch:
        call(answer, p, g)
    if watch.largest > 4 * p.numel():
        raise Wrong(
            f"The numbers are right, but for 3 rows of 200 a tensor of {watch.largest} numbers was built. "
            "Multiply out (diag(p) − p pᵀ) g: no matrix is needed."
        )
    return "p times the gradient less its weighted mean, and no matrix built."


@exercise("saturation-predict", "predict_entropy")
def predict_entropy(answer: Callable) -> str:
    """Examine the predicted entropy ln n - (spread/T)²/2, which stops at zero, against sampled rows."""
    for n, spread, temperature in ((1000, 1.2, 1.5), (1000, 1.0, 1.0), (64, 0.5, 0.8)):
        got = want_number(call(answer, n, spread, temperature), "The entropy")
        case = f"n = {n}, spread {spread} and temperature {temperature}"
        ratio = spread / temperature
        expected = math.log(n) - ratio**2 / 2
        for mistake, message in (
            (math.log2(n) - ratio**2 / 2 / math.log(2), "The entropy is in bits. Use the natural logarithm."),
            (math.log2(n) - ratio**2 / 2, "ln n is the natural logarithm, not the one to base 2."),
            (math.log(n) - ratio**2, "Half the variance is lost, not all of it."),
            (math.log(n) - ratio / 2, "It takes the spread. What counts is its square, the variance."),
            (math.log(n) - (spread * temperature) ** 2 / 2, "It multiplies by the temperature. Scores are divided by it."),
            (math.log(n) - spread**2 / 2 / temperature, "The temperature divides the scores, so the variance is divided by its square."),
            (math.log(n) - spread**2 / 2, "The temperature is forgotten."),
            (math.log(n), "That is the entropy of equal weights. Half the variance of the scores is lost."),
            (math.log(n) - ratio**2 / 4, "Half the variance is lost, not a quarter of it."),
            (math.log(n) - 1 / ratio**2 / 2, "It divides the temperature by the spread. Scores are divided by the temperature."),
            (expected / math.log(2), "The entropy is in bits. Use the natural logarithm throughout."),
            (expected / math.log(n), "That is the entropy as a share of ln n. The exercise asks for nats."),
            (math.exp(expected), "That is the exponential of the entropy, a number of keys. The exercise asks for nats."),
            (math.log(n) + ratio**2 / 2, "That is the logarithm of the sum, ln n + variance/2. Entropy falls as the spread grows."),
        ):  # fmt: skip
            if abs(got - mistake) < 1e-3 < abs(mistake - expected):
                raise Wrong(message)
        z = ratio * torch.randn(1000, n, generator=torch.Generator().manual_seed(n), dtype=torch.float64)
        measured = torch.special.entr(z.softmax(-1)).sum(-1).mean().item()
        if abs(got - measured) > 0.02:
            raise Wrong(f"For {case} sampled rows have {measured:.2f} nats on average; it says {got:.2f}.")
    got = want_number(call(answer, 64, 16.0, 1.0), "The entropy")
    if got > 0:
        raise Wrong(
            f"For n = 64, spread 16 and temperature 1 the formula falls below zero; it says {got:.1f}. One row is "
            "nearly one-hot there: return 0."
        )
    if got < 0:
        raise Wrong(
            f"For n = 64, spread 16 and temperature 1 it says {got:.1f}. No entropy is below zero: stop there."
        )
    return "ln n less half the variance of what the softmax gets, and never below zero."


@exercise("saturation-stable-softmax", "softmax")
def stable_softmax(answer: Callable) -> str:
    """Examine a softmax of the last axis that neither overflows nor underflows, and copes with -inf."""
    s = torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(7))
    with _Watch() as watch:
        result = call(answer, s)
    got = want_tensor(result, (2, 3, 4))
    if {"_softmax", "_log_softmax", "logsumexp"} & watch.names:
        raise Wrong("It calls a softmax of torch. Write your own, out of exp and a sum.")
    for axis in (0, 1):
        if near(got, s.softmax(axis)):
            raise Wrong("The softmax runs along the wrong axis. Each row of the last axis must sum to 1.")
    if near(got, s.flatten().softmax(0).view_as(s)):
        raise Wrong("The sum runs over the whole tensor. Each row of the last axis has a sum of its own.")
    if near(got, (s * math.log(2)).softmax(-1)):
        raise Wrong("Those are powers of two. The softmax has exp, with base e.")
    if not near(got, s.softmax(-1)):
        raise Wrong(f"The first row should be {rounded(s.softmax(-1)[0, 0])}, it is {rounded(got[0, 0])}.")
    for rows, message in (
        ([[100.0, 99.0, 98.0]], "The row 100, 99, 98 overflows: exp(100) is infinite in fp32. Subtract the largest score first."),
        ([[-500.0, 500.0, 0.0]], "The row −500, 500, 0 still overflows. Subtract the largest score, not the mean or the least."),
        ([[300.0, 299.0], [-300.0, -301.0]], "With rows at +300 and −300 one of them is lost: each row needs its own largest score, not that of the whole tensor, nor the largest in size."),
        ([[50.0, -200.0]], "The row 50, −200 is changed by more than rounding. Subtract, do not clamp."),
        ([[0.0, -math.inf, 1.0]], "A score of −inf means “not allowed”: its weight is 0, and the others share the rest."),
        ([[-math.inf, -math.inf], [1.0, 2.0]], "A row of −inf gives NaN, since −inf − (−inf) is not a number. Nothing is allowed there: return zeros."),
    ):  # fmt: skip
        x = torch.tensor(rows)
        got = want_tensor(call(answer, x), tuple(x.shape))
        if not near(got, reference.softmax(x)):
            if (x[0] == -math.inf).all() and near(got[0], torch.full((2,), 0.5)):
                message = (
                    "A row of −inf is shared out equally, as if all were allowed. Nothing is: return zeros."
                )
            raise Wrong(message)
    half = torch.full((1, 1000), 5.0, dtype=torch.float16)
    got = want_tensor(call(answer, half), (1, 1000))
    if got.dtype != torch.float16:
        raise Wrong(f"Scores in fp16 come back as {str(got.dtype).removeprefix('torch.')}. Keep the dtype.")
    if not near(got.float(), torch.full((1, 1000), 0.001), 2e-6):
        raise Wrong(
            "A thousand scores of 5 in fp16: the sum of exp(5) overflows. Subtract the largest score first."
        )
    return "Stable in every row and precision, with −inf, and with nothing allowed at all."


@exercise("saturation-limits", "limits")
def limits(answer: Callable) -> str:
    """Examine the scores at which exp becomes zero and becomes infinite, in three precisions."""
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        low, high = want_pair(call(answer, dtype), "a pair (low, high)")
        low, high = want_number(low, "low"), want_number(high, "high")
        name, info = str(dtype).removeprefix("torch."), torch.finfo(dtype)
        top, bottom = math.log(info.max), math.log(info.tiny * info.eps / 2)
        for mistake, message in (
            (math.log2(info.max), "That is the exponent to base 2. exp has base e: take the natural logarithm."),
            (math.log10(info.max), "That is the exponent to base 10. exp has base e: take the natural logarithm."),
            (info.max, "That is the largest number itself. The largest score is its logarithm."),
        ):  # fmt: skip
            if abs(high - mistake) < 0.02 * mistake:
                raise Wrong(message)
        if abs(high - top) > 0.3:
            if abs(low - top) < 0.3:
                raise Wrong("The two have changed places: low comes first.")
            raise Wrong(f"For {name} exp is finite up to a score of {top:.1f}; it says {high:.1f}.")
        if low > 0:
            raise Wrong(
                f"low is a negative score, it is {low:.1f}: exp(0) is 1, and only far below does exp vanish."
            )
        for mistake, message in (
            (-top, "The two sides are not mirror images: below the smallest normal number come the subnormal ones."),
            (math.log(info.tiny), "Below the smallest normal number come the subnormal ones: down to tiny · eps."),
            (info.min, "That is the most negative number itself, not a score whose exponential vanishes."),
            (math.log2(info.tiny * info.eps), "low is an exponent to base 2. exp has base e: take the natural logarithm."),
            (math.log(info.eps), "eps says how fine numbers are near 1. How small can they get?"),
        ):  # fmt: skip
            if abs(low - mistake) < 0.05 and abs(mistake - bottom) > 0.8:
                raise Wrong(f"{message} With {name}, low is {low:.4g}.")
        # The smallest subnormal, or half of it where rounding to nearest gives zero: both can be called the end.
        if not bottom - 0.3 < low < bottom + math.log(2) + 0.3:
            raise Wrong(f"For {name} exp is above zero down to a score of {bottom:.1f}; it says {low:.4g}.")
    return "Both ends in all three precisions: fp16 ends at 11, bf16 goes as far as fp32."


@exercise("saturation-slower", "slowdown")
def slowdown(answer: Callable) -> str:
    """Examine how a slowdown is measured, by a training that notes how it is called and learns on schedule."""
    plan = {(0.25, 3): 4, (1.0, 3): 8, (0.25, 5): 5, (1.0, 5): 15, (0.25, 8): 10, (1.0, 8): None}
    called: list[tuple[float, float, int]] = []

    def train(d_k: int, scale: float, seed: int) -> list[float]:
        called.append((d_k, scale, seed))
        reached = plan.get((round(float(scale), 6), seed), 2)
        # Two steps early the loss is equal to the mark, and one step later it is above it again.
        losses = [2.0 if reached is None or step < reached else 0.5 for step in range(1, 21)]
        if reached is not None:
            losses[reached - 3] = 1.0
            losses[reached] = 1.5
        return losses

    got = call(answer, train, 16, [3, 5, 8], 1.0)
    if any(seed not in (3, 5, 8) for _, _, seed in called):
        raise Wrong(
            "It trained with a seed that was not in the list: both runs of a pair start from the same seed."
        )
    scales = {round(float(scale), 6) for _, scale, _ in called}
    for wrong, message in (
        (4.0, "It multiplies the scores by √d_k. The scale is 1/√d_k."),
        (0.0625, "It scales by 1/d_k. The scale is 1/√d_k."),
        (16.0, "It takes d_k for the scale. The scale is 1/√d_k."),
    ):
        if wrong in scales:
            raise Wrong(message)
    if scales != {0.25, 1.0}:
        raise Wrong(f"With d_k = 16 the scales are 1 and 0.25; it trained with {sorted(scales)}.")
    if any(d_k != 16 for d_k, _, _ in called):
        raise Wrong("The width has to stay as it is: only the scale differs between the two runs.")
    if not isinstance(got, list | tuple) or len(got) != 3:
        raise Wrong(f"It should return a list with one ratio for each of the 3 seeds; it returned {got!r}.")
    ratios = [want_number(ratio, "A ratio") for ratio in got]
    for wrong, message in (
        ([4 / 8, 5 / 15, 10 / 20], "The ratios are upside down: steps without the scale go on top."),
        ([7 / 3, 14 / 4, 20 / 9], "Steps are counted from 0. Count from 1."),
        ([7 / 3, 14 / 4, 19 / 9], "Steps are counted from 0. Count from 1."),
        ([6 / 2, 13 / 3, 20 / 8], "A loss equal to the mark is not below it."),
        ([0.5 / 0.5] * 2 + [2.0 / 0.5], "It compares losses. Compare the numbers of steps."),
        ([4.0, 10.0, 10.0], "Those are differences. Divide."),
    ):
        if all(math.isclose(a, b, rel_tol=1e-6) for a, b in zip(ratios, wrong, strict=True)):
            raise Wrong(message)
    want = [8 / 4, 15 / 5, 20 / 10]
    for ratio, right, seed in zip(ratios, want, (3, 5, 8), strict=True):
        if not math.isclose(ratio, right, rel_tol=1e-6):
            raise Wrong(
                f"For seed {seed} the ratio should be {right:g}, it is {ratio:.3g}. Count up to the first loss below "
                "the mark; a run that never gets there counts all its steps."
            )
    return "One ratio for each seed, from runs that differ in nothing but the scale."
