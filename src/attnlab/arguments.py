"""Checks that several modules make: a message names the argument, what it was and what it should be."""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Sequence
from typing import TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor

Device = torch.device | str | None
Forward = TypeVar("Forward", bound=Callable)


def by_name(forward: Forward) -> Forward:
    """Tell whoever gives a layer one argument too many in a row which names there are.

    One rule for the `forward` of every layer: what it can't do without goes by place (the tokens x and, where
    it always reads a second sequence, that one: a decoder's memory, as in torch), and what may be left out
    goes by name. Otherwise what stands after x would be a mask to one layer and a context to the next.

    Args:
        forward: a method; what may be left out is keyword-only.

    Returns:
        The same method, whose TypeError names the layer, what it takes and what it was given.

    >>> import torch
    >>> class Layer:
    ...     @by_name
    ...     def forward(self, x, *, mask=None, is_causal=False): ...
    >>> Layer().forward(torch.zeros(5, 3), torch.ones(5, 5) > 0)  # doctest: +NORMALIZE_WHITESPACE
    Traceback (most recent call last):
    ...
    TypeError: Layer takes x by place and the rest by name (mask=, is_causal=);
    after x it got a boolean tensor of shape (5, 5)
    """
    parameters = inspect.signature(forward).parameters.values()
    by_place = [one.name for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD][1:]
    names = [f"{one.name}=" for one in parameters if one.kind is one.KEYWORD_ONLY]

    @functools.wraps(forward)
    def checked(self, *args, **kwargs):
        if len(args) > len(by_place):
            raise TypeError(
                f"{type(self).__name__} takes {' and '.join(by_place)} by place and the rest by name "
                f"({', '.join(names)}); after {by_place[-1]} it got {_described(args[len(by_place)])}"
            )
        return forward(self, *args, **kwargs)

    # torch.compile keeps its graphs with the code, so many for each: every layer needs a code of its own.
    checked.__code__ = checked.__code__.replace(co_name=f"{forward.__qualname__}, checked")
    return checked


def _described(x: object) -> str:
    if not isinstance(x, Tensor):
        return _kind(x)
    kind = "boolean tensor" if x.dtype == torch.bool else f"tensor of {x.dtype}"
    return f"a {kind} of shape {tuple(x.shape)}"


def at_least(smallest: int, **sizes: int) -> None:
    """Check that sizes are large enough.

    Args:
        smallest: the least that is allowed.
        sizes: each size under the caller's name for it.

    Raises:
        TypeError: one is no whole number.
        ValueError: one is smaller.

    >>> at_least(1, n=3, d_model=0)
    Traceback (most recent call last):
    ...
    ValueError: d_model must be at least 1, got 0
    """
    for name, size in sizes.items():
        if not isinstance(size, int):
            _is_whole(name, size)
        if size < smallest:
            raise ValueError(f"{name} must be at least {smallest}, got {size}")


def _is_whole(name: str, size: object) -> None:
    try:
        operator.index(size)
    except TypeError:
        raise TypeError(f"{name} must be a whole number, got {size!r}") from None


def chance(**shares: float) -> None:
    """Check that numbers are probabilities.

    Args:
        shares: each probability under the caller's name for it.

    Raises:
        ValueError: one does not lie between 0 and 1.

    >>> chance(dropout=10)
    Traceback (most recent call last):
    ...
    ValueError: dropout must lie between 0 and 1, got 10
    """
    for name, share in shares.items():
        if isinstance(share, str) or not 0 <= share <= 1:
            raise ValueError(f"{name} must lie between 0 and 1, got {share!r}")


def divides(whole: int, **parts: int) -> None:
    """Check that a number divides another without remainder.

    Args:
        whole: the number to be divided.
        parts: each divisor under the caller's name for it.

    Raises:
        TypeError: one is no whole number.
        ValueError: one is smaller than 1 or leaves a remainder.

    >>> divides(6, n_kv_heads=4)
    Traceback (most recent call last):
    ...
    ValueError: n_kv_heads must divide 6, got 4
    """
    for name, part in parts.items():
        if not isinstance(part, int):
            _is_whole(name, part)
        if part < 1 or whole % part:
            raise ValueError(f"{name} must divide {whole}, got {part}")


def is_number_of(what: str, n: int, **numbers: int | None) -> None:
    """Check that numbers name one of some things, which are counted from 0.

    Args:
        what: what the things are.
        n: how many there are.
        numbers: each number under the caller's name for it; None, which names nothing, may stand for it.

    Raises:
        TypeError: one is no whole number.
        ValueError: nothing has that number.

    >>> is_number_of("word", 6, eos_token_id=99)
    Traceback (most recent call last):
    ...
    ValueError: eos_token_id must be the number of a word, 0 to 5, got 99
    """
    for name, number in numbers.items():
        if number is None:
            continue
        if not isinstance(number, int):
            _is_whole(name, number)
        if not 0 <= number < n:
            raise ValueError(f"{name} must be the number of a {what}, 0 to {n - 1}, got {number}")


def is_tensor(name: str, x: object) -> None:
    """Check that what should be a tensor is one, and no array or list.

    Args:
        name: the caller's name for it.
        x: what the caller was given.

    Raises:
        TypeError: it is something else.

    >>> is_tensor("x", [1.0, 2.0])
    Traceback (most recent call last):
    ...
    TypeError: x must be a tensor, got list
    """
    if not isinstance(x, Tensor):
        raise TypeError(f"{name} must be a tensor, got {_kind(x)}")


def _kind(x: object) -> str:
    kind = type(x)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def has_width(name: str, x: Tensor, width: int) -> None:
    """Check that rows of tokens have the width that a layer was made for.

    Args:
        name: the caller's name for the tensor.
        x: tokens (..., n, width).
        width: the width.

    Raises:
        TypeError: x is no tensor, or holds whole numbers.
        ValueError: x has no rows, or rows of another width.

    >>> import torch
    >>> has_width("x", torch.zeros(5, 3), 4)
    Traceback (most recent call last):
    ...
    ValueError: x must have shape (..., n, 4), got (5, 3)
    """
    is_tensor(name, x)
    if x.dim() < 2 or x.shape[-1] != width:
        raise ValueError(f"{name} must have shape (..., n, {width}), got {tuple(x.shape)}")
    if not x.is_floating_point():
        raise TypeError(f"{name} must hold real numbers, got dtype {x.dtype}")


def answers(name: str, tokens: Tensor, x: Tensor, width: int) -> None:
    """Check that what should be a second sequence of tokens is one, and no mask.

    Args:
        name: the caller's name for it.
        tokens: (batch, n_k, width).
        x: the tokens that ask, (batch, n_q, d_model).
        width: the width.

    Raises:
        TypeError: it is no tensor, or a boolean one.
        ValueError: it has another width, or not the batch of x.

    >>> import torch
    >>> answers("memory", torch.ones(5, 5) > 0, torch.zeros(2, 5, 4), 4)
    Traceback (most recent call last):
    ...
    TypeError: memory must be tokens, got a boolean tensor of shape (5, 5); a mask goes by its name: mask=...
    """
    if isinstance(tokens, Tensor) and tokens.dtype == torch.bool:
        raise TypeError(f"{name} must be tokens, got {_described(tokens)}; a mask goes by its name: mask=...")
    has_width(name, tokens, width)
    if tokens.dim() != 3 or tokens.shape[0] != x.shape[0]:
        raise ValueError(
            f"{name} must have shape (batch, n_k, d_model) with the batch of x {tuple(x.shape)}, "
            f"got {tuple(tokens.shape)}"
        )


def has_shape(name: str, value: Tensor, shape: Sequence[int], what: str = "") -> None:
    """Check that a tensor has exactly one shape.

    Args:
        name: the caller's name for the tensor.
        value: the tensor.
        shape: the shape.
        what: the shape in letters, for the message.

    Raises:
        TypeError: it is no tensor.
        ValueError: it has another.

    >>> import torch
    >>> has_shape("head_weights", torch.ones(5), (6,), "(n_heads,)")
    Traceback (most recent call last):
    ...
    ValueError: head_weights must have shape (n_heads,) = (6,), got (5,)
    """
    is_tensor(name, value)
    if value.shape != torch.Size(shape):
        what = f"{what} = " if what else ""
        raise ValueError(f"{name} must have shape {what}{tuple(shape)}, got {tuple(value.shape)}")


def is_boolean(name: str, mask: Tensor) -> None:
    """Check that a mask is made of True and False.

    Args:
        name: the caller's name for the mask.
        mask: what the caller was given.

    Raises:
        TypeError: it is no tensor, or one of numbers. 1 may mean "may attend" and may mean "hidden".

    >>> import torch
    >>> is_boolean("mask", torch.ones(2, 3))
    Traceback (most recent call last):
    ...
    TypeError: mask must be a boolean tensor (True = may attend), got dtype torch.float32
    """
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool:
        got = f"dtype {mask.dtype}" if isinstance(mask, Tensor) else _kind(mask)
        raise TypeError(f"{name} must be a boolean tensor (True = may attend), got {got}")


def fits_scores(name: str, value: Tensor, shape: Sequence[int]) -> None:
    """Check that a mask or a bias says clearly which scores it belongs to.

    It is (n_q, n_k), for all alike, or has every dimension of the scores, where 1 serves all. Broadcasting
    would take more, such as three dimensions beside the four of scores with heads: then one caller means the
    batch by the first, another the heads, and where there are as many of both nobody is told.

    Args:
        name: the caller's name for the tensor.
        value: the mask or bias.
        shape: the shape of the scores, (..., n_q, n_k).

    Raises:
        TypeError: it is no tensor.
        ValueError: it has other dimensions, or one that is neither 1 nor that of the scores.

    >>> import torch
    >>> fits_scores("bias", torch.ones(3, 4), (2, 5, 5))
    Traceback (most recent call last):
    ...
    ValueError: bias must be (n_q, n_k) or have the dimensions of the scores, (2, 5, 5); got (3, 4)
    """
    is_tensor(name, value)
    known = value.dim() == len(shape) or value.dim() == 2 < len(shape)
    pairs = zip(reversed(value.shape), reversed(shape), strict=False)
    if known and all(size in (1, whole) for size, whole in pairs):
        return
    advice = ""
    if value.dim() == 3 and len(shape) == 4:
        advice = (
            f"; write {name}[:, None] if its first dimension is the batch, {name}[None] if it is the heads"
        )
    elif value.dim() == 1:
        advice = f"; write {name}[None] for one row that serves all queries"
    raise ValueError(
        f"{name} must be (n_q, n_k) or have the dimensions of the scores, {tuple(shape)}; "
        f"got {tuple(value.shape)}{advice}"
    )


def fits_tokens(name: str, positions: Tensor, shape: Sequence[int]) -> None:
    """Check that positions say clearly which tokens they belong to.

    They are (n,), for all alike, or have every dimension of the tokens, where 1 serves all. As with a mask
    (`fits_scores`), what lies between would be read as a batch by one and as heads by another.

    Args:
        name: the caller's name for the tensor.
        positions: where the tokens stand.
        shape: the dimensions (..., n) of the tokens.

    Raises:
        TypeError: it is no tensor.
        ValueError: it has other dimensions, or one that is neither 1 nor that of the tokens.

    >>> import torch
    >>> fits_tokens("positions", torch.ones(2, 5), (2, 4, 5))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ValueError: positions must be (n,) or have ... got (2, 5); write positions[:, None] for one row a sequence
    """
    is_tensor(name, positions)
    sizes = tuple(positions.shape)
    known = len(sizes) in (1, len(shape)) and sizes[-1] == shape[-1]
    pairs = zip(reversed(sizes), reversed(shape), strict=False)
    if not known or any(size not in (1, whole) for size, whole in pairs):
        advice = f"; write {name}[:, None] for one row a sequence" if len(sizes) == 2 < len(shape) else ""
        raise ValueError(
            f"{name} must be (n,) or have the dimensions of the tokens, {tuple(shape)}; got {sizes}{advice}"
        )


def looked_up(name: str, at: Tensor, table: Tensor, what: str) -> Tensor:
    """Return the rows of a table at some places, all within it.

    Args:
        name: the caller's name for the places.
        at: whole numbers (...).
        table: (n, d).
        what: what the rows are, for the message.

    Returns:
        Rows (..., d).

    Raises:
        TypeError: the places are no whole numbers.
        ValueError: one lies outside the table. On a GPU torch stops the process with an error of its own.

    >>> import torch
    >>> looked_up("ids", torch.tensor([1, 7]), torch.zeros(3, 2), "words")
    Traceback (most recent call last):
    ...
    ValueError: ids must lie within the 3 words, 0 to 2, got 1 to 7
    """
    is_tensor(name, at)
    if at.dtype not in (torch.int64, torch.int32):
        raise TypeError(f"{name} must be whole numbers (torch.long), got dtype {at.dtype}")
    try:
        return F.embedding(at, table)
    except IndexError:  # asked for afterwards: to ask before, a GPU would have to be waited for
        raise ValueError(
            f"{name} must lie within the {len(table)} {what}, 0 to {len(table) - 1}, "
            f"got {int(at.min())} to {int(at.max())}"
        ) from None


def check_mask(mask: Tensor, shape: Sequence[int]) -> None:
    """Check a mask of pairs: `is_boolean`, and `fits_scores`.

    Args:
        mask: what the caller passed as a mask.
        shape: the shape of the scores, (..., n_q, n_k).

    Raises:
        TypeError: the mask is not boolean.
        ValueError: it does not fit the scores.

    >>> import torch
    >>> check_mask(torch.ones(3, 5, 5) > 0, (3, 2, 5, 5))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ValueError: mask must be ... got (3, 5, 5); write mask[:, None] if its first dimension is the batch, ...
    """
    is_boolean("mask", mask)
    fits_scores("mask", mask, shape)


def check_bias(bias: Tensor, shape: Sequence[int]) -> None:
    """Check what is added to the scores: numbers, which `fits_scores`.

    Args:
        bias: what the caller passed as a bias.
        shape: the shape of the scores, (..., n_q, n_k).

    Raises:
        TypeError: it is no tensor, or a boolean one, which would add 1 where it is True.
        ValueError: it does not fit the scores.

    >>> import torch
    >>> check_bias(torch.ones(5, 5) > 0, (5, 5))
    Traceback (most recent call last):
    ...
    TypeError: bias must hold numbers, got a boolean tensor of shape (5, 5); a mask goes by its name: mask=...
    """
    if isinstance(bias, Tensor) and bias.dtype == torch.bool:
        raise TypeError(f"bias must hold numbers, got {_described(bias)}; a mask goes by its name: mask=...")
    fits_scores("bias", bias, shape)


def check_options(
    shape: Sequence[int],
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    score_mod: Callable | None = None,
    is_causal: bool = False,
    dropout: float = 0.0,
    sinks: Tensor | None = None,
) -> None:
    """Check what attention is told beside queries, keys and values.

    Args:
        shape: the shape of the scores, (..., n_q, n_k).
        mask: as `check_mask`.
        bias: as `check_bias`.
        score_mod: a function of scores, as `is_score_mod`.
        is_causal: whether later keys are hidden.
        dropout: a chance.
        sinks: scores for nothing, () or (n_heads,).

    Raises:
        TypeError: the mask is not boolean, the bias is no tensor of numbers, score_mod no function, or the
            sinks are no tensor.
        ValueError: a shape does not fit, dropout is no chance, or is_causal meets n_q other than n_k.

    >>> check_options((5, 7), is_causal=True)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ValueError: is_causal needs as many queries as keys, got n_q = 5 and n_k = 7; pass a mask that says ...
    """
    if dropout:
        chance(dropout=dropout)
    if mask is not None:
        check_mask(mask, shape)
    if bias is not None:
        check_bias(bias, shape)
    if score_mod is not None:
        is_score_mod(score_mod)
    if sinks is not None:
        is_tensor("sinks", sinks)
        if sinks.dim():
            has_shape("sinks", sinks, shape[-3:-2] if len(shape) > 3 else (), "(n_heads,)")
    if is_causal and shape[-2] != shape[-1]:
        raise ValueError(
            f"is_causal needs as many queries as keys, got n_q = {shape[-2]} and n_k = {shape[-1]}; "
            "pass a mask that says which keys each query may see"
        )


def is_score_mod(score_mod: object) -> None:
    """Check that what should change scores is a function.

    Args:
        score_mod: what the caller was given.

    Raises:
        TypeError: it can't be called.

    >>> is_score_mod(50.0)
    Traceback (most recent call last):
    ...
    TypeError: score_mod must be a function of (score, b, h, q_idx, kv_idx), got float
    """
    if not callable(score_mod):
        raise TypeError(
            f"score_mod must be a function of (score, b, h, q_idx, kv_idx), got {_kind(score_mod)}"
        )


def scores_shape(q: Tensor, k: Tensor, v: Tensor) -> torch.Size:
    """Return the shape of the scores, or say which of the tensors does not fit the others.

    Args:
        q: queries (..., n_q, d_k).
        k: keys (..., n_k, d_k).
        v: values (..., n_k, d_v).

    Returns:
        (..., n_q, n_k).

    Raises:
        TypeError: one is no tensor.
        ValueError: one has another shape.

    >>> import torch
    >>> scores_shape(torch.zeros(2, 5, 4), torch.zeros(7, 4), torch.zeros(7, 3))
    torch.Size([2, 5, 7])
    """
    for name, x in (("q", q), ("k", k), ("v", v)):
        is_tensor(name, x)
        if x.dim() < 2:
            raise ValueError(f"{name} must have shape (..., n, d), got {tuple(x.shape)}")
    return _scores_shape(q, k, v, k.shape[:-2], v.shape[:-2])


def grouped_scores_shape(q: Tensor, k: Tensor, v: Tensor) -> torch.Size:
    """Return the shape of the scores of query heads that share keys and values, or say what does not fit.

    Args:
        q: queries (batch, n_heads, n_q, d_k).
        k: keys (batch, n_kv_heads, n_k, d_k).
        v: values (batch, n_kv_heads, n_k, d_v).

    Returns:
        (batch, n_heads, n_q, n_k).

    Raises:
        TypeError: one is no tensor.
        ValueError: one has another shape, or n_kv_heads does not divide n_heads.

    >>> import torch
    >>> grouped_scores_shape(torch.zeros(1, 6, 5, 4), torch.zeros(1, 2, 7, 4), torch.zeros(1, 2, 7, 3))
    torch.Size([1, 6, 5, 7])
    """
    for name, x in (("q", q), ("k", k), ("v", v)):
        is_tensor(name, x)
        if x.dim() != 4:
            raise ValueError(f"{name} must have shape (batch, heads, n, d), got {tuple(x.shape)}")
    n_heads, n_kv_heads = q.shape[1], k.shape[1]
    shared = n_heads % n_kv_heads == 0 if n_kv_heads else n_heads == 0
    if n_kv_heads != v.shape[1] or not shared:
        raise ValueError(f"k and v must share n_kv_heads, a divisor of n_heads; {_got(q, k, v)}")
    return _scores_shape(q, k, v, (k.shape[0], n_heads), (v.shape[0], n_heads))


def _scores_shape(
    q: Tensor, k: Tensor, v: Tensor, of_keys: Sequence[int], of_values: Sequence[int]
) -> torch.Size:
    """Return (..., n_q, n_k); keys and values serve queries with these dimensions in front."""
    if q.shape[-1] != k.shape[-1]:
        raise ValueError(f"q and k must share their last dimension d_k, {_got(q, k, v)}")
    if k.shape[-2] != v.shape[-2]:
        raise ValueError(f"k and v must have the same number of tokens n_k, {_got(q, k, v)}")
    lead = q.shape[:-2]
    if not of_keys == lead == of_values:  # asked first: torch takes as long as a small kernel here
        try:
            lead = torch.broadcast_shapes(lead, of_keys, of_values)
        except RuntimeError:
            message = "the leading dimensions of q, k and v must broadcast"
            raise ValueError(f"{message}, {_got(q, k, v)}") from None
    return torch.Size((*lead, q.shape[-2], k.shape[-2]))


def _got(q: Tensor, k: Tensor, v: Tensor) -> str:
    return f"got q {tuple(q.shape)}, k {tuple(k.shape)}, v {tuple(v.shape)}"


def row_of_keys(key_mask: Tensor, lead: Sequence[int], n_k: int, *, name: str = "key_mask") -> Tensor:
    """Turn a mask of the keys into one of the pairs, the same for every query.

    Args:
        key_mask: boolean (..., n_k), or (..., 1, n_k) as `masks.padding` makes it; True = may be attended to.
        lead: the dimensions (...) of the tokens.
        n_k: number of keys.
        name: the caller's name for the mask.

    Returns:
        Boolean mask (..., 1, n_k).

    Raises:
        TypeError: key_mask is not boolean.
        ValueError: it has another shape.

    >>> import torch
    >>> row_of_keys(torch.ones(2, 5, dtype=torch.bool), (2,), 5).shape
    torch.Size([2, 1, 5])
    """
    is_boolean(name, key_mask)
    shape = (*lead, n_k)
    if key_mask.shape == shape:
        return key_mask.unsqueeze(-2)
    if key_mask.shape != (*lead, 1, n_k):
        has_shape(name, key_mask, shape, "(..., n_k)")
    return key_mask


def of_keys(key_mask: Tensor, lead: Sequence[int], n_k: int) -> Tensor:
    """Turn a mask of the keys into one beside keys that may have more dimensions than the mask, as heads.

    Args:
        key_mask: boolean (batch, n_k), or (batch, 1, n_k) as `masks.padding` makes it; True = may be attended
            to. Without dimensions in front (n_k,).
        lead: the dimensions (batch, ...) of the keys.
        n_k: number of keys.

    Returns:
        Boolean mask (batch, 1, ..., 1, n_k), with as many dimensions in front as the keys have.

    Raises:
        TypeError: key_mask is not boolean.
        ValueError: it has another shape.

    >>> import torch
    >>> of_keys(torch.ones(2, 5, dtype=torch.bool), (2, 8), 5).shape
    torch.Size([2, 1, 5])
    """
    row = row_of_keys(key_mask, lead[:1], n_k)
    return row.reshape(*lead[:1], *(1 for _ in lead[1:]), n_k)


def no_second_derivative(what: str, instead: str) -> None:
    """Refuse, within a backward pass written by hand, to be differentiated itself.

    Args:
        what: the caller's name for itself.
        instead: what has a second derivative.

    Raises:
        RuntimeError: autograd records the backward pass, as `create_graph=True` makes it do. Without this a
            second derivative would come out, silently without the part that runs through here.

    >>> no_second_derivative("this form", "the other form")
    Traceback (most recent call last):
    ...
    RuntimeError: this form has no second derivative (create_graph=True); the other form has one
    """
    if torch.is_grad_enabled():
        raise RuntimeError(f"{what} has no second derivative (create_graph=True); {instead} has one")
