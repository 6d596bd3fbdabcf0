"""Checkers of chapter 13, Sparse attention."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from attnlab import masks
from attnlab.attention import attention
from attnlab.checks.verdict import Wrong, call, exercise, near, rounded, want_tensor


class _Largest(TorchDispatchMode):
    """Notes the size of the largest tensor that an answer makes."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = function(*args, **(kwargs or {}))
        if isinstance(out, Tensor):
            # A view that repeats entries owns no memory of its own: what counts is what lies behind it.
            self.numbers = max(self.numbers, out.untyped_storage().nbytes() // out.element_size())
        return out


def _draw(seed: int, *shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@exercise("13-strided", "strided_mask")
def strided(answer: Callable) -> str:
    """Examine the causal strided mask."""
    for n, stride in ((11, 3), (10, 4)):
        got = want_tensor(call(answer, n, stride), (n, n))
        if got.dtype != torch.bool:
            raise Wrong(f"The mask should be boolean, True = may attend; it has dtype {got.dtype}.")
        place = torch.arange(n)
        back = place[:, None] - place
        past, close, far = back >= 0, back.abs() <= stride, back % stride == 0
        for mistake, message in (
            (past & far, "The neighbourhood is missing: the last `stride` tokens are visible too."),
            (past & close, "It is a window: every `stride`-th token before it is missing."),
            (past & (close | (place % stride == 0)),
             "It takes columns that are multiples of the stride. It is the distance, row - column, that "
             "must be one."),
            (past & (close | (place % stride == stride - 1)),
             "It takes the last column of each block: that is the fixed pattern. Here the distance counts."),
            (close | far, "It is not causal: later tokens are visible."),
            (past & close & far, "It allows where both rules do. Either is enough: use |."),
            ((back > 0) & (close | far), "It is off by one: a token may see itself."),
            (past & ((back <= stride + 1) | far), "It is off by one: the neighbourhood is a token too wide."),
            (past & ((back <= stride) | (back % (stride + 1) == 0)),
             "It is off by one: the far tokens stand stride + 1 apart."),
            (~(past & (close | far)), "It is inverted: True must mean may attend."),
        ):  # fmt: skip
            if torch.equal(got, mistake):
                raise Wrong(message)
        wrong = (got != masks.strided(n, stride)).nonzero()
        if len(wrong):
            i, j = wrong[0].tolist()
            raise Wrong(
                f"With n = {n} and stride {stride}, row {i}, column {j} should be {not bool(got[i, j])}."
            )
    return "Neighbours within the stride, every stride-th token beyond, nothing ahead."


@exercise("13-block-window", "block_window")
def block_window(answer: Callable) -> str:
    """Examine a causal window by blocks: its values, its gradient and the memory it takes."""
    shape, d_v, w = (2, 3, 22, 5), 6, 4
    n = shape[2]
    q, k, v = _draw(1, *shape), _draw(2, *shape), _draw(3, *shape[:3], d_v)
    mask = masks.window(n, w, 0)
    want = attention(q, k, v, mask=mask)
    got = call(answer, q, k, v, w)
    if isinstance(got, Tensor) and got.dim() == 4 and got.shape[2] < n:
        raise Wrong(
            f"The last partial block is lost: {n} tokens went in, {got.shape[2]} came out. Pad to a multiple "
            "of w and cut the padding off at the end."
        )
    if isinstance(got, Tensor) and got.dim() < 4:
        raise Wrong(
            f"The batch is lost: the output should have shape (2, 3, 22, 6), it has {tuple(got.shape)}."
        )
    got = want_tensor(got, (2, 3, n, d_v))
    if got.isnan().any():
        i = int(got.isnan().any(-1).nonzero()[0, 2])
        raise Wrong(f"Row {i} is NaN: a row of the scores was all −inf when it came to the softmax.")
    place = torch.arange(n)
    block = place // w
    step = block[:, None] - block
    back = place[:, None] - place
    for mistake, message in (
        ((step == 0) | (step == -1), "It reads the block after its own. The window looks back."),
        ((step == 0), "Each block sees itself alone: the block before is missing."),
        ((step == 0) & (back >= 0), "Each block sees itself alone: the block before is missing."),
        ((step == 0) | (step == 1), "Every pair of the two blocks is open. Within them, 0 <= i - j <= w."),
        ((step <= 1) & (back >= 0), "The window has no end: within the two blocks, i - j may be w at most."),
        (masks.window(n, w - 1, 0), "It is off by one: the token w places back is visible too."),
        (masks.window(n, w), "It looks ahead as well."),
    ):
        if near(got, attention(q, k, v, mask=mistake & (step.abs() <= 1))):
            raise Wrong(message)
    if not near(got[..., w:, :], want[..., w:, :]):
        good = (got - want).abs().amax(dim=(0, 1, 3)) <= 1e-5
        i = int((~good).nonzero()[0])
        raise Wrong(
            f"Row {i} differs from attention under masks.window(n, w, 0): it starts "
            f"{rounded(want[0, 0, i, :3])}, here {rounded(got[0, 0, i, :3])}. Which block and which place in "
            "it do its keys have?"
        )
    if not near(got, want):
        raise Wrong(
            "The first rows are wrong: they see the padding before the text, and its zeros take part in the "
            "softmax. Hide it."
        )
    leaves = [x.clone().requires_grad_() for x in (q, k, v)]
    # `call` copies what it is given, and a copy would keep the gradient: so these go in by a closure.
    slopes = torch.autograd.grad(call(lambda: answer(*leaves, w)).sum(), leaves)
    if any(slope.isnan().any() for slope in slopes):
        raise Wrong(
            "Forward it is right, backward it gives NaN: a padded row was all −inf. Cutting it off later does "
            "not help the gradient, so let padded queries see something, or use a softmax that knows."
        )
    long, narrow = 1024, 8
    with _Largest() as watch:
        call(answer, *(_draw(4, 1, 1, long, 4) for _ in range(3)), narrow)
    if watch.numbers > long**2 // 4:
        raise Wrong(
            f"The values are right, but on the way stood a tensor of {watch.numbers:,} numbers for {long} "
            f"tokens: nothing with n² entries may be made, no mask either."
        )
    return "Equal to the dense window, forward and backward, for any length, without a table of n² entries."


@exercise("13-layers", "layers_needed")
def layers_needed(answer: Callable) -> str:
    """Examine how many layers it takes until reach grows no more."""
    many = torch.eye(258, dtype=torch.bool)
    many[0, 1:257] = many[1:257, 257] = True  # 256 ways of two layers from token 257 to token 0
    chain = torch.eye(8, dtype=torch.bool)
    for i, j in ((1, 0), (2, 1), (3, 2), (4, 3), (5, 4), (7, 6)):
        chain[i, j] = True
    cases = (
        (masks.causal(5), 1, "a causal mask"),
        (masks.window(10, 3, 0), 3, "a causal window of 3 over 10 tokens"),
        (masks.window(12, 2), 6, "a two-sided window of 2 over 12 tokens"),
        (masks.strided(16, 4), 2, "a strided mask"),
        (chain, 5, "a chain whose last token hears of one other only"),
        (many, 2, "258 tokens, where 256 ways lead from the last to the first"),
    )
    found = [call(answer, mask) for mask, _, _ in cases]
    for got in found:
        if isinstance(got, bool) or not isinstance(got, int):
            raise Wrong(f"It should return a whole number of layers, it returned {type(got).__name__}.")
    wanted = [want for _, want, _ in cases]
    if found == [want + 1 for want in wanted]:
        raise Wrong("It is off by one: it counts the layer that only shows that nothing is added.")
    if found == [want - 1 for want in wanted]:
        raise Wrong("It is off by one: the mask itself is the reach of the first layer.")
    if set(found) == {1}:
        raise Wrong(
            "It says 1 for every mask: a power of the matrix is needed, and `mask * mask` or `mask & mask` "
            "works entry by entry."
        )
    for (_, want, name), got in zip(cases, found, strict=True):
        if got == want:
            continue
        start = f"For {name} it should return {want}, it returned {got}. "
        if "258" in name:
            raise Wrong(
                start + "The ways are counted, and 256 of them are 0 in eight bits. Ask only whether there "
                "is one: turn the product into a boolean before the next."
            )
        if "chain" in name:
            raise Wrong(start + "It looks at the last token only; another one may still be waiting.")
        if "window" in name and got == 1 << (want - 1).bit_length():
            raise Wrong(
                start + "Squaring doubles the layers: multiply by the mask, one layer at a time, or search "
                "between the last two powers."
            )
        raise Wrong(start + "Multiply the reach by the mask until it no longer changes.")
    return "One product a layer, turned into yes or no each time, until nothing is added."


@exercise("13-stride", "best_stride")
def best_stride(answer: Callable) -> str:
    """Examine the cheapest stride of the causal strided mask, by exact count."""
    sizes = (50, 200, 1000)
    found = [call(answer, n) for n in sizes]
    for got in found:
        if isinstance(got, bool) or not isinstance(got, int):
            raise Wrong(f"It should return a whole number, it returned {type(got).__name__}.")
    wanted = [_cheapest(n) for n in sizes]
    if found == [pairs for _, pairs in wanted]:
        raise Wrong("It returns the number of pairs. The stride that needs so many is wanted.")
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
        ties = [s for s in range(1, n + 1) if _pairs(n, s) == pairs]
        if got in ties:
            raise Wrong(start + "Of equally cheap strides, return the smallest.")
        if got >= n // 2:
            raise Wrong(start + "The neighbours have been forgotten: a wider neighbourhood is not free.")
        raise Wrong(start + "Count row by row: min(i, s) + 1 neighbours, and i // s - 1 tokens beyond them.")
    with _Largest() as watch:
        call(answer, 600)
    if watch.numbers > 600 * 100:
        raise Wrong("The answer is right, but it builds the n × n mask to count it. Add up the rows instead.")
    return "The exact optimum lies near √(n/2), since a causal mask opens half of the far pairs."


def _pairs(n: int, s: int) -> int:
    row = torch.arange(n)
    return int((row.clamp_max(s) + 1 + (row // s - 1).clamp_min(0)).sum())


def _cheapest(n: int) -> tuple[int, int]:
    pairs, stride = min((_pairs(n, s), s) for s in range(1, n + 1))
    return stride, pairs
