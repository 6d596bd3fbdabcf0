"""Keys and values kept from one step of decoding to the next, and the memory that they take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor

from attnlab.arguments import Device, at_least, fits_tokens, has_shape, row_of_keys


class KVCache:
    """Room for the keys and values of tokens to come, set aside once.

    Appending writes into that room. A cache that is joined anew at each step (`torch.cat`) copies all that
    came before, each time.

    Args:
        batch: sequences decoded side by side.
        n_kv_heads: key-value heads of the layer that this cache belongs to.
        capacity: tokens there is room for.
        d_head: width of a key, and of a value unless `d_v` is given.
        d_v: width of a value; 0 where values are read off the keys, as those of `LatentAttention`.
        device: where the room is.
        dtype: dtype of keys and values.

    Raises:
        ValueError: a size is smaller than 1; only a batch and values may be empty.

    References:
        Pope et al. 2023, section 2.

    >>> cache = KVCache(batch=1, n_kv_heads=2, capacity=8, d_head=4)
    >>> keys, values = cache.append(torch.zeros(1, 2, 3, 4), torch.ones(1, 2, 3, 4))
    >>> cache.length, keys.shape
    (3, torch.Size([1, 2, 3, 4]))
    """

    def __init__(
        self,
        batch: int,
        n_kv_heads: int,
        capacity: int,
        d_head: int,
        d_v: int | None = None,
        *,
        device: Device = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        d_v = d_head if d_v is None else d_v
        at_least(0, batch=batch, d_v=d_v)
        at_least(1, n_kv_heads=n_kv_heads, capacity=capacity, d_head=d_head)
        self._length = 0
        with torch.inference_mode(False):  # what is made in it could not be written into outside of it
            self._keys = torch.empty(batch, n_kv_heads, capacity, d_head, device=device, dtype=dtype)
            self._values = torch.empty(batch, n_kv_heads, capacity, d_v, device=device, dtype=dtype)

    @property
    def length(self) -> int:
        """Tokens that are kept."""
        return self._length

    @property
    def capacity(self) -> int:
        """Tokens there is room for."""
        return self._keys.shape[2]

    def append(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Add the keys and values of new tokens.

        Args:
            k: (batch, n_kv_heads, n_new, d_head).
            v: (batch, n_kv_heads, n_new, d_v).

        Returns:
            All keys (batch, n_kv_heads, length, d_head) and values so far: views, valid until
            these are forgotten.

        Raises:
            ValueError: a shape does not fit, or there is no room left.
            RuntimeError: a gradient is wanted. A cache keeps numbers, not how they came about.
        """
        self._check(k, v)
        n = k.shape[-2]
        end = self.length + n
        if end > self.capacity:
            raise ValueError(
                f"the cache has room for capacity = {self.capacity} tokens; "
                f"it holds {self.length}, and {n} more do not fit"
            )
        self._keys[:, :, self.length : end] = k
        self._values[:, :, self.length : end] = v
        self._length = end  # last: a call that is stopped before has added nothing
        return self._keys[:, :, :end], self._values[:, :, :end]

    def select(self, rows: Tensor) -> None:
        """Go on with some of the sequences, in this order; one may be taken more than once.

        Args:
            rows: numbers of sequences (batch,).
        """
        with torch.inference_mode(False), torch.no_grad():
            self._keys, self._values = self._keys[rows], self._values[rows]

    def truncate(self, n: int) -> None:
        """Forget all tokens but the first n; the room stays.

        Args:
            n: tokens that are kept, if there are so many.

        Raises:
            ValueError: n is negative.
        """
        at_least(0, n=n)
        self._length = min(self._length, n)

    def clear(self) -> None:
        """Forget all tokens; the room stays."""
        self.truncate(0)

    def _check(self, k: Tensor, v: Tensor) -> None:
        """Refuse what is not kept: gradients, and other shapes."""
        if torch.is_grad_enabled() and (k.requires_grad or v.requires_grad):
            raise RuntimeError("a cache passes back no gradient: decode under torch.no_grad()")
        for name, new, room in (("k", k, self._keys), ("v", v, self._values)):
            has_shape(name, new, (*room.shape[:2], k.shape[-2], room.shape[3]))


def visible_pairs(
    shape: Sequence[int],
    cache: KVCache | None,
    mask: Tensor | None = None,
    key_mask: Tensor | None = None,
    is_causal: bool = False,
) -> tuple[Tensor | None, bool]:
    """Join what a layer was told of who may see whom, and what follows from its cache.

    New tokens see themselves, each other in order, and all that the cache held before them. One new token may
    see all; several need a mask of their own on top of old ones, and where a rolling cache takes more of them
    than it keeps.

    Args:
        shape: the shape of the scores, (batch, heads, n_q, n_k).
        cache: what the new keys were added to, if anything.
        mask: as the layer got it, True = may attend.
        key_mask: boolean (batch, n_k) or (batch, 1, n_k); True = a real token.
        is_causal: whether later keys are hidden; beside a cache that goes without saying.

    Returns:
        The mask of all that, None if it hides nothing, and whether attention must be causal besides.

    Raises:
        TypeError: key_mask is not boolean.
        ValueError: it has another shape.

    >>> visible_pairs((1, 1, 2, 3), KVCache(batch=1, n_kv_heads=1, capacity=8, d_head=4))[0].int().tolist()
    [[1, 1, 0], [1, 1, 1]]
    """
    (batch, _, n_q, n_k), order = shape, None
    if cache is not None:
        is_causal = False  # a comparison itself would be no bool where sizes are symbols of a compiler
        if n_q == n_k <= cache.capacity:
            is_causal = True
        elif n_q > 1:
            first = n_k - n_q  # how many are older than the first new one
            order = torch.ones(n_q, n_k, dtype=torch.bool, device=cache._keys.device)
            order = order.tril(first).triu(first + 1 - cache.capacity)
    if key_mask is not None:
        row = row_of_keys(key_mask, (batch,), n_k)[:, None]  # (batch, 1, 1, n_k)
        mask = row if mask is None else mask & row
    if order is not None:
        mask = order if mask is None else mask & order
    return mask, is_causal


def token_positions(position_ids: Tensor | None, x: Tensor, before: int) -> Tensor:
    """Return where new tokens stand: where they are said to, or after those that came before them.

    Args:
        position_ids: as the layer got them, (n,) or (batch, n), if it did.
        x: the new tokens (batch, n, d).
        before: how many tokens came before them.

    Returns:
        Positions (n,), or (batch, 1, n): one axis for heads, which all stand at the same place.

    Raises:
        TypeError: position_ids are no tensor.
        ValueError: they have another shape.

    >>> token_positions(None, torch.zeros(1, 2, 4), before=3).tolist()
    [3, 4]
    """
    if position_ids is None:
        return torch.arange(before, before + x.shape[1], device=x.device)
    fits_tokens("position_ids", position_ids, x.shape[:2])
    return position_ids[:, None] if position_ids.dim() == 2 else position_ids


@contextmanager
def all_or_nothing(cache: KVCache | Sequence[KVCache] | None) -> Iterator[None]:
    """Let a call that is refused or stopped half-way leave its cache as long as it was.

    Each layer of a model adds to a cache of its own. Were the call to end between two of them, the next one
    would find caches that do not belong together, and answer all the same. So every call that takes a cache
    does its work in here, the outermost one too.

    Args:
        cache: what the call adds to. If anything is raised, the stop button's interrupt too, every length is
            put back; what was written behind it is never read.

    Raises:
        TypeError: it is no cache.

    >>> cache = KVCache(batch=1, n_kv_heads=1, capacity=8, d_head=4)
    >>> with all_or_nothing(cache):
    ...     _ = cache.append(torch.zeros(1, 1, 3, 4), torch.zeros(1, 1, 3, 4))
    ...     raise ValueError("half-way")
    Traceback (most recent call last):
    ...
    ValueError: half-way
    >>> cache.length
    0
    """
    caches = cache if isinstance(cache, (list, tuple)) else () if cache is None else (cache,)
    for one in caches:
        if not isinstance(one, KVCache):
            raise TypeError(f"cache must be what new_cache made, got {type(one).__name__}")
    lengths = [one.length for one in caches]
    try:
        yield
    except BaseException:
        for one, length in zip(caches, lengths, strict=True):
            one._length = length
        raise


def kv_cache_bytes(
    n_layers: int,
    n_kv_heads: int,
    d_head: int,
    n: int,
    *,
    d_v: int | None = None,
    batch: int = 1,
    bytes_per_number: int = 2,
) -> int:
    """Count the bytes that keys and values take: two vectors a token, a layer and a key-value head.

    Where layers differ, add up over their kinds, with `n` no larger than a window and divided by the size of
    a block that is pooled into one. A layer that reads the cache of another has none of its own.

    Args:
        n_layers: layers, each with a cache of its own.
        n_kv_heads: key-value heads of a layer; as many as query heads in plain multi-head attention.
        d_head: width of a key, and of a value unless `d_v` is given.
        n: tokens of a sequence.
        d_v: width of a value; 0 where it is read off the key, as in `LatentAttention`, whose one key is the
            latent with the rotary part.
        batch: sequences.
        bytes_per_number: 2 for half precision, 4 for single.

    Returns:
        Bytes.

    Raises:
        ValueError: a number is negative, or bytes_per_number smaller than 1.

    References:
        Shazeer 2019, section 3; Ainslie et al. 2023, section 2.2; DeepSeek-AI 2024, section 2.1.4.

    >>> kv_cache_bytes(n_layers=32, n_kv_heads=8, d_head=128, n=1)
    131072
    >>> kv_cache_bytes(n_layers=61, n_kv_heads=1, d_head=512 + 64, n=1, d_v=0)  # DeepSeek-V3
    70272
    """
    width_v = d_head if d_v is None else d_v
    at_least(0, n_layers=n_layers, n_kv_heads=n_kv_heads, d_head=d_head, n=n, d_v=width_v, batch=batch)
    at_least(1, bytes_per_number=bytes_per_number)
    return n_layers * n_kv_heads * (d_head + width_v) * n * batch * bytes_per_number
