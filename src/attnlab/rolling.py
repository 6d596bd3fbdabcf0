"""A cache that keeps only the last tokens: its room does not grow with the text."""

from __future__ import annotations

import torch
from torch import Tensor

from attnlab.cache import KVCache


class RollingCache(KVCache):
    """Room for the keys and values of the last `capacity` tokens; a new token takes the place of the oldest.

    Token t goes into slot t mod capacity. Nothing is moved, so the slots are not in the order of the text.
    Attention does not mind: its output is a sum over keys. What depends on the order (rotary positions) is in
    the keys already.

    The prompt is read in one call; after that tokens come one at a time. Of a prompt longer than `capacity`
    all keys come back once: a layer hides from each token what the cache would have forgotten before it, so
    that it sees `capacity` keys, itself among them: `masks.window(n, capacity - 1, 0)`.

    Args:
        batch: as in `KVCache`, and so are all others.
        capacity: tokens that are kept, the new one among them.

    References:
        Jiang et al. 2023, section 2 (rolling buffer cache).

    >>> cache = RollingCache(batch=1, n_kv_heads=1, capacity=3, d_head=1)
    >>> for t in range(5):
    ...     keys, _ = cache.append(torch.full((1, 1, 1, 1), float(t)), torch.zeros(1, 1, 1, 1))
    >>> keys.flatten().tolist(), cache.length
    ([3.0, 4.0, 2.0], 5)
    """

    @property
    def next_order(self) -> list[int]:
        """The token in each slot, once the next one has come."""
        t = self.length
        return [t - (t - slot) % self.capacity for slot in range(min(t + 1, self.capacity))]

    def append(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Add the keys and values of the prompt, or of one new token.

        The slot that is written to belongs to a token that the new one may not see, so nothing is lost if the
        call that asked is refused.

        Args:
            k: (batch, n_kv_heads, n_new, d_head).
            v: (batch, n_kv_heads, n_new, d_v).

        Returns:
            Of a prompt the keys and values of all its tokens; later those that are kept, slot by slot.

        Raises:
            ValueError: a shape does not fit, or several tokens come after others.
            RuntimeError: a gradient is wanted.
        """
        self._check(k, v)
        t, n = self.length, k.shape[-2]
        if t and n > 1:
            raise ValueError(f"a rolling cache takes a prompt, then one token at a time; got {n} after {t}")
        if n > 1:
            last = torch.arange(max(0, n - self.capacity), n, device=k.device)
            self._keys[:, :, last % self.capacity] = k[:, :, last].to(self._keys.dtype)
            self._values[:, :, last % self.capacity] = v[:, :, last].to(self._values.dtype)
            self._length = n
            return k, v
        slot, end = t % self.capacity, min(t + n, self.capacity)
        self._keys[:, :, slot : slot + n] = k
        self._values[:, :, slot : slot + n] = v
        self._length += n
        return self._keys[:, :, :end], self._values[:, :, :end]

    def truncate(self, n: int) -> None:
        """Forget all tokens. What new ones took the place of is lost, so there is no going back by a few.

        Args:
            n: 0, or at least `length`, which changes nothing.

        Raises:
            ValueError: n is another number.
        """
        if 0 < n < self.length:
            raise ValueError(f"n must be 0, got {n}: a rolling cache has lost what the last tokens replaced")
        super().truncate(n)
