"""Checkers of chapter 14, Sparse attention."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attnlab import masks
from attnlab.attention import attention
from attnlab.checks.legacy import Wrong, call, exercise, near, rounded, want_tensor
from attnlab.checks.sparse_mistakes import BLOCKS, STRIDED, STRIDES, Count, follows
from attnlab.checks.watch import Endless, Watch


def _draw(seed: int, *shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def _whole(got: Any, what: str) -> int:
    """Take any whole number: Python's, NumPy's, or a tensor of one."""
    try:
        if isinstance(got, bool) or getattr(got, "dtype", None) == torch.bool:
            raise TypeError
        return operator.index(got)
    except TypeError:
        raise Wrong(f"It should return a whole number{what}, it returned {type(got).__name__}.") from None


@exercise("sparse-strided", "strided_mask")
def strided(answer: Callable) -> str:
    """Examine the causal strided mask."""
    cases = ((13, 3), (17, 5), (4, 6), (6, 1))
    found = [want_tensor(call(answer, n, stride), (n, n)) for n, stride in cases]
    for got in found:
        if got.dtype != torch.bool:
            raise Wrong(f"The mask should be boolean, True = may attend; it has dtype {got.dtype}.")
    right = [masks.strided(n, stride) for n, stride in cases]
    if not all(map(torch.equal, found, right)):
        for rule, message in STRIDED:
            if all(
                torch.equal(got, follows(rule, *case)) for got, case in zip(found[:2], cases, strict=False)
            ):
                raise Wrong(message)
    for (n, stride), got, want in zip(cases, found, right, strict=True):
        for i, j in (got != want).nonzero().tolist():
            raise Wrong(
                f"With n = {n} and stride {stride}, row {i}, column {j} should be {bool(want[i, j])}: it lies "
                f"{i - j} back."
            )
    return "Neighbours within the stride, every stride-th token beyond, nothing ahead."


@exercise("sparse-block-window", "block_window")
def block_window(answer: Callable) -> str:
    """Examine a causal window by blocks: its values, its gradients and the memory it takes."""
    shape, d_v, w = (2, 3, 22, 5), 6, 4
    n = shape[2]
    q, k, v = _draw(1, *shape), _draw(2, *shape), _draw(3, *shape[:3], d_v)
    want = attention(q, k, v, mask=masks.window(n, w, 0))
    got = call(answer, q, k, v, w)
    if isinstance(got, Tensor) and got.dim() == 4 and got.shape[2] < n:
        raise Wrong(
            f"The last partial block is lost: {n} tokens went in, {got.shape[2]} came out. Pad to a multiple "
            "of w and cut the padding off at the end."
        )
    if isinstance(got, Tensor) and got.dim() == 4 and got.shape[2] > n:
        raise Wrong(f"The padding is still there: {n} tokens went in, {got.shape[2]} came out. Cut it off.")
    if isinstance(got, Tensor) and got.dim() < 4:
        raise Wrong(
            f"The batch is lost: the output should have shape (2, 3, 22, 6), it has {tuple(got.shape)}."
        )
    got = want_tensor(got, (2, 3, n, d_v))
    if got.isnan().any():
        i = int(got.isnan().any(-1).nonzero()[0, 2])
        raise Wrong(f"Row {i} is NaN: a row of the scores was all −inf when it came to the softmax.")
    if not near(got.to(want.dtype), want):
        _name_blocks(got.to(want.dtype), want, q, k, v, w)
    if got.dtype != q.dtype:
        raise Wrong(f"Inputs of {q.dtype} should give an output of {q.dtype}, not {got.dtype}.")
    for others, n, w in (((), 17, 5), ((2,), 3, 5), ((1, 2), 12, 1)):
        q, k, v = (_draw(5 + i, *others, 4, n).mT for i in range(3))  # tokens as columns in memory
        more = want_tensor(call(answer, q, k, v, w), (*others, n, 4))
        if not near(more, attention(q, k, v, mask=masks.window(n, w, 0))):
            raise Wrong(
                f"Right for w = 4 and 22 tokens, but not for w = {w} and inputs of shape {(*others, n, 4)}. "
                "Is one of these numbers written down in it?"
            )
    _gradients(answer)
    long, narrow = 1024, 8
    with Watch() as watch:
        call(answer, *(_draw(4, 1, 1, long, 4) for _ in range(3)), narrow)
    if watch.numbers > long**2 // 4:
        raise Wrong(
            f"The values are right, but on the way stood a tensor of {watch.numbers:,} numbers for {long} "
            f"tokens: nothing with n² entries may be made, no mask either."
        )
    return "Equal to the dense window, forward and backward, for any length, without a table of n² entries."


def _name_blocks(got: Tensor, want: Tensor, q: Tensor, k: Tensor, v: Tensor, w: int) -> None:
    """Say what is wrong with an output."""
    for mistake, message in BLOCKS:
        if near(got[..., 1:, :], mistake(q, k, v, w)[..., 1:, :]):  # an empty row 0 may be NaN, zeros, a mean
            raise Wrong(message)
    if not near(got[..., w:, :], want[..., w:, :]):
        good = (got - want).abs().amax(dim=(0, 1, 3)) <= 1e-5
        i = int((~good).nonzero()[0])
        if (got - want).abs().max() < 0.02:
            raise Wrong(
                "It is nearly right: hidden keys keep a little weight. Hide them with −∞, or a number as good."
            )
        raise Wrong(
            f"Row {i} differs from attention under masks.window(n, w, 0): it starts "
            f"{rounded(want[0, 0, i, :3])}, here {rounded(got[0, 0, i, :3])}. Which block and which place in "
            "it do its keys have?"
        )
    raise Wrong(
        "The first rows are wrong: they see the padding before the text, and its zeros take part in the "
        "softmax. Hide it."
    )


def _gradients(answer: Callable) -> None:
    """Hold the gradients to those of dense attention, at a length that is no multiple of the window."""
    leaves = [_draw(8 + i, 2, 22, 5).requires_grad_() for i in range(3)]
    # `call` copies what it is given, and a copy would keep the gradient: so these go in by a closure.
    out = call(lambda: answer(*leaves, 4))
    if not out.requires_grad:
        raise Wrong("No gradient comes out of it: no torch.no_grad, no .detach and no .data on the way.")
    grad = _draw(11, *out.shape)
    found = torch.autograd.grad(out, leaves, grad, allow_unused=True)
    wanted = torch.autograd.grad(attention(*leaves, mask=masks.window(22, 4, 0)), leaves, grad)
    for name, got, want in zip(("q", "k", "v"), found, wanted, strict=True):
        if got is None:
            raise Wrong(f"No gradient reaches {name}: it was detached on the way.")
        if got.isnan().any():
            raise Wrong(
                "Forward it is right, backward it gives NaN: a padded row was all −inf. Cutting it off later "
                "does not help the gradient, so let padded queries see something, or use a softmax that knows."
            )
        if not near(got, want):
            raise Wrong(f"Forward it is right, but the gradient of {name} is not that of dense attention.")


def _chain(n: int, *pairs: tuple[int, int]) -> Tensor:
    mask = torch.eye(n, dtype=torch.bool)
    for i, j in pairs:
        mask[i, j] = True
    return mask


MULTIPLY = "Multiply the reach by the mask until it no longer changes."
WAITS = "Not every pair can be reached: don't wait for that, stop when nothing is added."
FORGETS = "It forgets what was heard before: a token always sees itself, so reach never shrinks."
COUNTED = "The ways are counted, and their number outgrows the type. Keep yes or no after each product."


def _masks() -> list[tuple[Tensor, int, str, str]]:
    """Make masks, and give the layers each needs, its name, and what to say to an answer that fails there first."""
    one = torch.eye(7, dtype=torch.bool)
    many = torch.eye(258, dtype=torch.bool)
    many[0, 1:257] = many[1:257, 257] = True  # 256 ways of two layers from token 257 to token 0
    return [
        (masks.causal(5), 1, "a causal mask", MULTIPLY),
        (masks.window(10, 3, 0), 3, "a causal window of 3 over 10 tokens", MULTIPLY),
        (masks.window(12, 2), 6, "a two-sided window of 2 over 12 tokens", MULTIPLY),
        (masks.strided(16, 4), 2, "a strided mask", MULTIPLY),
        (masks.window(211, 3, 0), 70, "a causal window of 3 over 211 tokens", COUNTED),
        (_chain(8, (1, 0), (2, 1), (3, 2), (4, 3), (5, 4), (7, 6)), 5,
         "a chain whose last token hears of one other only",
         "It looks at the last token only; another one may still be waiting."),
        (_chain(4, (1, 0), (2, 1), (3, 2), (3, 0)), 2, "a chain with a shortcut from its end to its start",
         FORGETS),
        (one | one.roll(1, 0), 6, "a ring of 7 tokens",
         "Reach may grow by the same amount twice, and stop only when it grows by nothing."),
        (one, 1, "a mask in which each token sees itself alone", MULTIPLY),
        (many, 2, "258 tokens, where 256 ways lead from the last to the first",
         "The ways are counted, and 256 of them are 0 in eight bits, or it looks at few tokens only. Ask whether "
         "there is a way, for all pairs: a boolean before the next product."),
    ]  # fmt: skip


@exercise("sparse-layers", "layers_needed")
def layers_needed(answer: Callable) -> str:
    """Examine how many layers it takes until reach grows no more."""
    cases, found = _masks(), []
    for mask, _, name, _ in cases:
        try:
            with Watch(most=100_000 + 6000 * mask.numel()):
                found.append(_whole(call(answer, mask), " of layers"))
        except Wrong as wrong:
            if not isinstance(wrong.__cause__, Endless):
                raise
            waits = any(word in name for word in ("causal mask", "chain", "alone", "10 tokens"))
            why = WAITS if waits else FORGETS if "ring" in name else COUNTED
            raise Wrong(f"It does not stop for {name}. {why}") from None
    wanted = [want for _, want, _, _ in cases]
    doublings = [(want - 1).bit_length() for want in wanted[:5]]
    if found == [want + 1 for want in wanted]:
        raise Wrong("It is off by one: it counts the layer that only shows that nothing is added.")
    if found == [want - 1 for want in wanted]:
        raise Wrong("It is off by one: the mask itself is the reach of the first layer.")
    if found[:5] in ([1 << times for times in doublings], [1 + times for times in doublings]):
        raise Wrong(
            "Squaring doubles the layers: multiply by the mask, one layer at a time, or search between the last "
            "two powers."
        )
    if set(found) == {1}:
        raise Wrong(
            "It says 1 for every mask: a power of the matrix is needed, and `mask * mask` or `mask & mask` "
            "works entry by entry."
        )
    for (mask, want, name, hint), got in zip(cases, found, strict=True):
        if got != want:
            hint = WAITS if found[2] == 6 and got > 2 * len(mask) else hint
            raise Wrong(f"For {name} it should return {want}, it returned {got}. {hint}")
    return "One product a layer, turned into yes or no each time, until nothing is added."


@exercise("sparse-stride", "best_stride")
def best_stride(answer: Callable) -> str:
    """Examine the cheapest stride of the causal strided mask, by exact count."""
    sizes = (1, 3, 4, 57, 60, 61, 79, 101, 105)  # together they tell the mistakes apart
    found = [_whole(call(answer, n), "") for n in sizes]
    wanted = [_cheapest(n) for n in sizes]
    if found == [pairs for _, pairs in wanted]:
        raise Wrong("It returns the number of pairs. The stride that needs so many is wanted.")
    if found != [stride for stride, _ in wanted]:
        for count, message in STRIDES:
            if found == [_cheapest(n, count)[0] for n in sizes]:
                raise Wrong(message)
        if all(abs(got - n**0.5) <= 1 for got, n in zip(found, sizes, strict=True)):
            raise Wrong(
                f"It returns √n: {found} for n = {list(sizes)}. That is best for the bound n(s + n/s). A "
                "causal mask opens half of the far pairs only: count them."
            )
    for n, got, (want, pairs) in zip(sizes, found, wanted, strict=True):
        if got == want:
            continue
        if not 1 <= got <= n:
            raise Wrong(f"For n = {n} the stride should lie between 1 and n, it is {got}.")
        start = f"For n = {n} stride {want} opens {pairs} pairs, stride {got} opens {_pairs(n, got)}. "
        if _pairs(n, got) == pairs:
            raise Wrong(start + "Of equally cheap strides, return the smallest.")
        if got > n // 2 > 2:
            raise Wrong(start + "The neighbours have been forgotten: a wider neighbourhood is not free.")
        if all(abs(one - (m / 2) ** 0.5) <= 1 for one, m in zip(found, sizes, strict=True)):
            start += "√(n/2) is near, but the count decides. "
        raise Wrong(start + "Count row by row: min(i, s) + 1 neighbours, and i // s - 1 tokens beyond them.")
    with Watch(large=150**2) as watch:
        call(answer, 150)
    if watch.many > 40:  # a table of strides by rows takes a few; a mask for each stride, hundreds
        raise Wrong("The answer is right, but it builds n × n masks to count them. Add up the rows instead.")
    return "The exact optimum lies near √(n/2), since a causal mask opens half of the far pairs."


def _keys(row: Tensor, s: int) -> Tensor:
    return row.clamp_max(s) + 1 + (row // s - 1).clamp_min(0)


def _pairs(n: int, s: int, count: Count = _keys) -> float:
    return count(torch.arange(n), s).sum().item()


def _cheapest(n: int, count: Count = _keys) -> tuple[int, float]:
    pairs, stride = min((_pairs(n, s, count), s) for s in range(1, n + 1))
    return stride, pairs
