"""Boolean masks. True means "may attend", as in `torch.nn.functional.scaled_dot_product_attention`.

`torch.nn.MultiheadAttention` uses the opposite convention: there True means "may not". Masks are ordinary
tensors, so `&` (both must allow) and `|` (either may allow) combine them:

>>> (causal(3) & padding([2], n=3))[0].int().tolist()
[[1, 0, 0], [1, 1, 0], [1, 1, 0]]

A mask is (n_q, n_k), the same for all, or it has every dimension of the scores it is meant for. One for each
sequence is (batch, n_q, n_k) beside tokens (batch, n, d); beside heads (batch, heads, n, d) write
`mask[:, None]`. Layers, sparse and linear forms take `padding` alone, as `key_mask`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType

import torch
from torch import Tensor, nn

from attnlab.arguments import Device, at_least, has_shape, is_boolean


def causal(n: int, *, device: Device = None) -> Tensor:
    """Let each token attend to itself and to the tokens before it.

    Args:
        n: sequence length.
        device: where the mask is made.

    Returns:
        Boolean mask (n, n); row i is True in columns 0..i.

    Raises:
        ValueError: n is negative.

    References:
        Vaswani et al. 2017, section 3.2.3.

    >>> causal(3).int().tolist()
    [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    """
    at_least(0, n=n)
    return torch.ones(n, n, dtype=torch.bool, device=device).tril()


def padding(lengths: Tensor | Sequence[int], n: int | None = None, *, device: Device = None) -> Tensor:
    """Hide the padded end of every sequence in a batch: no token may attend to it.

    Args:
        lengths: (batch,) number of real tokens of each sequence; 0 is allowed and leaves an empty row.
        n: padded length; the longest sequence unless given.
        device: where the mask is made; the device of `lengths` unless given.

    Returns:
        Boolean mask (batch, 1, n), True in columns 0..length-1. It hides keys, not queries: the middle axis
        broadcasts over the queries. Layers, sparse and linear forms take it as `key_mask`.

    Raises:
        ValueError: a length is negative or larger than n, or `lengths` is not one-dimensional.

    >>> padding([1, 3]).int().tolist()
    [[[1, 0, 0]], [[1, 1, 1]]]
    """
    lengths = torch.as_tensor(lengths, device=device)
    if lengths.dim() != 1 or lengths.numel() == 0:
        raise ValueError(f"lengths must have shape (batch,) with batch >= 1, got {tuple(lengths.shape)}")
    if lengths.is_floating_point() or lengths.dtype == torch.bool:
        raise ValueError(f"lengths must be whole numbers, got dtype {lengths.dtype}")
    longest = int(lengths.max())
    n = longest if n is None else n
    if int(lengths.min()) < 0 or longest > n:
        raise ValueError(f"lengths must lie between 0 and n = {n}, got {lengths.tolist()}")
    return (torch.arange(n, device=lengths.device) < lengths[:, None])[:, None, :]


def window(n: int, before: int, after: int | None = None, *, device: Device = None) -> Tensor:
    """Let each token attend to its neighbours: `before` tokens back, itself, and `after` tokens ahead.

    Args:
        n: sequence length.
        before: how many earlier tokens are visible, at least 0.
        after: how many later tokens are visible; as many as `before` unless given. 0 makes it causal.
        device: where the mask is made.

    Returns:
        Boolean mask (n, n); True where -before <= column - row <= after.

    Raises:
        ValueError: n is negative, or a width is negative.

    References:
        Beltagy et al. 2020, section 3.1.

    >>> window(4, 1).int().tolist()
    [[1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 1], [0, 0, 1, 1]]
    """
    at_least(0, n=n)
    return _patterns().Window(before, after).dense(n, device=device)


def global_tokens(n: int, positions: Tensor | Sequence[int], *, device: Device = None) -> Tensor:
    """Let a few tokens attend to all and be attended to by all.

    Args:
        n: sequence length.
        positions: where the global tokens stand, each between 0 and n - 1.
        device: where the mask is made.

    Returns:
        Boolean mask (n, n); True in the rows and in the columns of the global tokens.

    Raises:
        ValueError: n is negative, or a position lies outside the sequence.

    References:
        Beltagy et al. 2020, section 3.1 ("global attention").

    >>> global_tokens(3, [0]).int().tolist()
    [[1, 1, 1], [1, 0, 0], [1, 0, 0]]
    """
    at_least(0, n=n)
    return _patterns().GlobalTokens(positions).dense(n, device=device)


def random_keys(n: int, n_random: int, *, seed: int, block_size: int = 1, device: Device = None) -> Tensor:
    """Let each query attend to a few keys drawn at random, the same on every device.

    With `block_size` the draw is made for blocks: the sequence is cut into blocks of so many tokens, and the
    queries of one block share `n_random` random blocks of keys. That makes random keys fast to fetch.

    Args:
        n: sequence length.
        n_random: how many different keys (or blocks of keys) each query sees; at most as many as there are.
        seed: number that fixes the draw.
        block_size: tokens a block; the last block may be shorter.
        device: where the mask is made.

    Returns:
        Boolean mask (n, n); every row is True at `n_random` keys, or `n_random` blocks of keys.

    Raises:
        ValueError: n or block_size is smaller than 1, or `n_random` is negative or larger than the number of
            blocks.

    References:
        Zaheer et al. 2020, section 2 and appendix D (blocks).

    >>> random_keys(4, 2, seed=0).sum(-1).tolist()
    [2, 2, 2, 2]
    """
    at_least(0, n=n)
    return _patterns().RandomBlocks(n_random, block_size, seed).dense(n, device=device)


def strided(n: int, stride: int, *, is_causal: bool = True, device: Device = None) -> Tensor:
    """Let each token attend to its last `stride` neighbours and, beyond them, to every `stride`-th token.

    Args:
        n: sequence length.
        stride: width of the neighbourhood and step between the far tokens, at least 1; near sqrt(n) it is
            cheapest.
        is_causal: False lets each token look ahead in the same way.
        device: where the mask is made.

    Returns:
        Boolean mask (n, n); row i is True at columns j <= i with i - j <= stride or (i - j) % stride == 0.

    Raises:
        ValueError: n or stride is smaller than 1.

    References:
        Child et al. 2019, section 4.3 ("strided attention").

    >>> strided(6, 2)[5].int().tolist()
    [0, 1, 0, 1, 1, 1]
    """
    at_least(0, n=n)
    pattern = _patterns().Strided(stride)
    return (pattern & _patterns().Causal() if is_causal else pattern).dense(n, device=device)


def fixed(n: int, stride: int, summary: int = 1, *, is_causal: bool = True, device: Device = None) -> Tensor:
    """Cut the sequence into blocks: a token attends to its block and to the last tokens of the others.

    Args:
        n: sequence length.
        stride: tokens a block, at least 1; near sqrt(n) it is cheapest.
        summary: how many tokens at the end of each block all may attend to.
        is_causal: False lets each token look ahead in the same way.
        device: where the mask is made.

    Returns:
        Boolean mask (n, n); row i is True at columns j <= i with j // stride == i // stride or
        j % stride >= stride - summary.

    Raises:
        ValueError: n or stride is smaller than 1, or `summary` does not lie between 0 and stride.

    References:
        Child et al. 2019, section 4.3 ("fixed attention").

    >>> fixed(6, 2)[5].int().tolist()
    [0, 1, 0, 1, 1, 1]
    """
    at_least(0, n=n)
    pattern = _patterns().Fixed(stride, summary)
    return (pattern & _patterns().Causal() if is_causal else pattern).dense(n, device=device)


def prefix(n: int, length: int | Tensor | Sequence[int], *, device: Device = None) -> Tensor:
    """Let every token attend to a prefix, the question, and make the rest causal, the answer.

    Args:
        n: sequence length.
        length: how many tokens the prefix has, 0 to n; or (batch,) of them, one for each sequence.
        device: where the mask is made.

    Returns:
        Boolean mask (n, n), or (batch, n, n); True where column < length or column <= row.

    Raises:
        ValueError: n is negative, or a length is negative or larger than n.

    References:
        Raffel et al. 2020, section 3.2.1.

    >>> prefix(4, 2).int().tolist()
    [[1, 1, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]]
    """
    at_least(0, n=n)
    if isinstance(length, int):
        if not 0 <= length <= n:
            raise ValueError(f"length must lie between 0 and n = {n}, got {length}")
        return causal(n, device=device) | padding([length], n, device=device)[0]
    in_prefix = padding(length, n, device=device)  # (batch, 1, n)
    return causal(n, device=in_prefix.device) | in_prefix


def packed(documents: Tensor | Sequence[int], *, device: Device = None) -> Tensor:
    """Keep documents that share one row apart: a token may attend within its own document only.

    Args:
        documents: (..., n) which document each token belongs to; any whole numbers. Padding at the end of the
            row is one more document.
        device: where the mask is made; the device of `documents` unless given.

    Returns:
        Boolean mask (..., n, n), True where both tokens have the same number; not causal by itself.

    Raises:
        ValueError: `documents` has no axis, no tokens, or holds other than whole numbers.

    References:
        Krell et al. 2021 (packing without cross-contamination).

    >>> packed([0, 0, 1]).int().tolist()
    [[1, 1, 0], [1, 1, 0], [0, 0, 1]]
    """
    documents = torch.as_tensor(documents, device=device)
    if documents.dim() == 0 or documents.numel() == 0:
        raise ValueError(f"documents must have shape (..., n) with n >= 1, got {tuple(documents.shape)}")
    if documents.is_floating_point() or documents.dtype == torch.bool:
        raise ValueError(f"documents must be whole numbers, got dtype {documents.dtype}")
    return documents[..., :, None] == documents[..., None, :]


def leaks(
    model: Callable[[Tensor], Tensor],
    n: int,
    d_model: int | None = None,
    mask: Tensor | None = None,
    *,
    vocab_size: int | None = None,
) -> tuple[int, int] | None:
    """Find the first output that depends on a token it may not see.

    A model that takes vectors is asked by its gradient: each output row is projected at random and
    differentiated by the input. A model that takes the numbers of words has no such gradient and is asked
    by trying: one word at a time is exchanged for another, and each output row that moves depends on it.
    Both are done for three random inputs, within `torch.no_grad()` and `torch.inference_mode()` too. A leak
    found is a fact; that none is found is no proof. One that only a certain word shows may be missed, and a
    gradient does not see what passes through a choice (the largest, the top two) or a `detach`: exchange
    vectors there. Gradients and moves below 100 roundings of the row's largest number count as zero: a model
    in float64 shows fainter leaks.

    Args:
        model: takes vectors (1, n, d_model), or numbers of words (1, n) where `vocab_size` is given; returns
            (1, n, ...). A module is asked on its own device and in its own dtype; its parameters get no
            gradient.
        n: sequence length, at least 1.
        d_model: width of a vector, at least 1.
        mask: boolean (n, n), True where row i may depend on token j; causal unless given.
        vocab_size: how many words there are, at least 2, in the place of `d_model`.

    Returns:
        (i, j), the first in reading order such that output i depends on token j and must not; None if there
        is no such pair.

    Raises:
        TypeError: the mask is not boolean.
        ValueError: a shape does not fit, not exactly one of `d_model` and `vocab_size` is given, the output
            or its gradient is NaN (an empty row?), or the same words give two different outputs (dropout?).

    >>> leaks(lambda x: x.cumsum(1), 4, 2) is None
    True
    >>> leaks(lambda x: x.roll(-1, 1), 4, 2)
    (0, 1)
    >>> leaks(nn.Embedding(9, 2), 4, vocab_size=9) is None
    True
    """
    if (d_model is None) == (vocab_size is None):
        raise ValueError(
            "give d_model for a model that takes vectors, or vocab_size for one that takes numbers of words; "
            f"got d_model = {d_model} and vocab_size = {vocab_size}"
        )
    at_least(1, n=n, d_model=1 if d_model is None else d_model)
    at_least(2, vocab_size=2 if vocab_size is None else vocab_size)
    if mask is not None:
        is_boolean("mask", mask)
        has_shape("mask", mask, (n, n), "(n, n)")
    like = next(model.parameters(), None) if isinstance(model, nn.Module) else None
    like = torch.empty(0) if like is None else like
    allowed = (causal(n) if mask is None else mask).to(like.device)
    draw = torch.Generator().manual_seed(0)
    leaking = torch.zeros(n, n, dtype=torch.bool, device=like.device)
    # Whoever asks within no_grad must not be told that nothing depends on anything.
    with torch.inference_mode(False), torch.enable_grad():
        for _ in range(3):
            if vocab_size is None:
                x = torch.randn(1, n, d_model, generator=draw, dtype=torch.float64).to(like).requires_grad_()
                depends = _depends(model(x), x, draw)
            else:
                words = torch.randint(vocab_size, (1, n), generator=draw).to(like.device)
                depends = _moves(model, words, vocab_size, draw)
            leaking = leaking | (depends & ~allowed)
    first = leaking.nonzero()
    return (int(first[0, 0]), int(first[0, 1])) if len(first) else None


def _depends(out: Tensor, x: Tensor, draw: torch.Generator) -> Tensor:
    """Say which rows of the output (1, n, ...) have a gradient in which tokens: boolean (n, n)."""
    n = x.shape[1]
    _rows(out, n)
    if not out.requires_grad:
        return torch.zeros(n, n, dtype=torch.bool, device=x.device)
    rows = []
    for i in range(n):
        direction = torch.randn(out[0, i].shape, generator=draw, dtype=torch.float64).to(out)
        (slope,) = torch.autograd.grad((out[0, i] * direction).sum(), x, retain_graph=True, allow_unused=True)
        slope = torch.zeros_like(x) if slope is None else slope
        if slope.isnan().any():
            raise ValueError(f"the gradient of row {i} of the output is NaN")
        size = slope[0].abs().amax(-1)  # (n,)
        rows.append(_counts(size, size.max()))
    return torch.stack(rows)


def _moves(
    model: Callable[[Tensor], Tensor], words: Tensor, vocab_size: int, draw: torch.Generator
) -> Tensor:
    """Exchange one word at a time, and say which rows of the output move with which: boolean (n, n)."""
    n = words.shape[1]
    before = _rows(model(words), n)
    largest = before.abs().amax(-1)  # (n,)

    def moved(other: Tensor) -> Tensor:
        return _counts((_rows(model(other), n) - before).abs().amax(-1), largest)

    if moved(words).any():
        raise ValueError(
            "model gave two different outputs for the same words: is dropout on? Call model.eval()"
        )
    columns = []
    for j in range(n):
        other = words.clone()
        other[0, j] = (words[0, j] + torch.randint(1, vocab_size, (), generator=draw).to(words)) % vocab_size
        columns.append(moved(other))
    return torch.stack(columns, -1)


def _rows(out: Tensor, n: int) -> Tensor:
    """Check an output (1, n, ...) and return its rows, (n, ...) with all but the first axis as one."""
    if out.dim() < 2 or out.shape[:2] != (1, n):
        raise ValueError(f"model must return shape (1, n = {n}, ...), it returned {tuple(out.shape)}")
    rows = out[0].detach().unsqueeze(-1).flatten(1)
    rows = rows if rows.is_floating_point() else rows.double()
    broken = rows.isnan().any(-1).nonzero()
    if len(broken):
        raise ValueError(f"row {int(broken[0, 0])} of the output is NaN: may it attend to anything?")
    return rows


def _counts(size: Tensor, largest: Tensor) -> Tensor:
    """Say which numbers are more than roundings of the largest of their row."""
    return size > 100 * torch.finfo(size.dtype).eps * largest


def _patterns() -> ModuleType:
    # Half of the time that `import attnlab` would take, for those who need no pattern.
    from attnlab import patterns

    return patterns
