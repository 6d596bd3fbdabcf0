"""An indexer, the layer that it chooses for, and the cache that keeps its keys too."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnlab.arguments import (
    Device,
    at_least,
    by_name,
    check_mask,
    has_shape,
    has_width,
    row_of_keys,
)
from attnlab.cache import KVCache, all_or_nothing, token_positions
from attnlab.latent import LatentAttention, _normed
from attnlab.multihead import MultiHeadAttention
from attnlab.positions import RotaryPositions
from attnlab.precision import without_autocast
from attnlab.selection.choosing import index_scores, top_keys
from attnlab.selection.gathered import selected_attention


class IndexedCache(KVCache):
    """A cache that keeps a third vector of each token, beside key and value: the key of its indexer.

    All three have one length.

    Args:
        batch: as in `KVCache`, and so are all others.
        d_index: width of an indexer's key.

    >>> cache = IndexedCache(batch=1, n_kv_heads=2, capacity=8, d_head=4, d_index=3)
    >>> cache.append(torch.zeros(1, 2, 5, 4), torch.ones(1, 2, 5, 4), torch.ones(1, 5, 3))[2].shape
    torch.Size([1, 5, 3])
    """

    def __init__(
        self,
        batch: int,
        n_kv_heads: int,
        capacity: int,
        d_head: int,
        d_index: int,
        d_v: int | None = None,
        *,
        device: Device = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(batch, n_kv_heads, capacity, d_head, d_v, device=device, dtype=dtype)
        at_least(1, d_index=d_index)
        with torch.inference_mode(False):
            self._index = torch.empty(batch, capacity, d_index, device=device, dtype=dtype)

    def append(self, k: Tensor, v: Tensor, index: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Add what new tokens keep.

        Args:
            k: (batch, n_kv_heads, n_new, d_head).
            v: (batch, n_kv_heads, n_new, d_v).
            index: keys of the indexer, (batch, n_new, d_index).

        Returns:
            All three of all tokens so far, as `KVCache.append` returns two.

        Raises:
            ValueError: a shape does not fit, or there is no room left.
            RuntimeError: a gradient is wanted.
        """
        has_shape("index", index, (self._index.shape[0], k.shape[-2], self._index.shape[-1]))
        before = self.length
        keys, values = super().append(k, v)
        self._index[:, before : self.length] = index.detach()
        return keys, values, self._index[:, : self.length]

    def select(self, rows: Tensor) -> None:
        """Go on with some of the sequences, as `KVCache.select` does."""
        super().select(rows)
        with torch.inference_mode(False), torch.no_grad():
            self._index = self._index[rows]


class Indexer(nn.Module):
    """Choose for each token, by a few small heads, which keys all heads of a layer read.

    Args:
        d_model: width of tokens.
        top: how many keys a token reads at most.
        n_heads: number of small heads.
        width: width of each, and of the one key that a token offers to all of them.
        d_query: width of what its queries are made of; d_model unless given. DeepSeek's code makes them of
            the compressed query of latent attention.
        rotary: turns queries and keys by their positions, as in `MultiHeadAttention`; DeepSeek's turns a part
            of the width, its first entries, in halves.
        device: where the parameters are made.
        dtype: dtype of the parameters.

    Raises:
        ValueError: a size is smaller than 1, or the width is odd and to be turned.

    References:
        DeepSeek-AI 2025 (DeepSeek-V3.2), section 2.1; the norm of the keys, the rotation and the divisors
        √width and √n_heads are known from its code, which in its own kernels also turns both vectors by one
        Hadamard matrix, so that no product changes, and rounds them to eight bits, which is not done here.

    >>> choose = Indexer(d_model=16, top=3)
    >>> choose(torch.randn(2, 5, 16), is_causal=True)[0, 0].tolist()
    [0, -1, -1]
    """

    def __init__(
        self,
        d_model: int,
        top: int,
        *,
        n_heads: int = 4,
        width: int = 32,
        d_query: int | None = None,
        rotary: bool | RotaryPositions = False,
        device: Device = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        d_query = d_model if d_query is None else d_query
        at_least(1, d_model=d_model, top=top, n_heads=n_heads, width=width, d_query=d_query)
        if rotary is True and width % 2:
            raise ValueError(f"rotary turns pairs: width must be even, got {width}")
        self.d_model, self.top, self.n_heads, self.width = d_model, top, n_heads, width
        self.rotary = RotaryPositions() if rotary is True else (rotary or None)
        options = {"device": device, "dtype": dtype}
        self.q_proj = nn.Linear(d_query, n_heads * width, bias=False, **options)
        self.k_proj = nn.Linear(d_model, width, bias=False, **options)
        self.k_norm = nn.LayerNorm(width, eps=1e-6, **options)
        self.weights_proj = nn.Linear(d_model, n_heads, bias=False, **options)

    def keys(self, x: Tensor, *, position_ids: Tensor | None = None) -> Tensor:
        """Return what tokens (batch, n, d_model) offer, (batch, n, width); a cache keeps it.

        Raises:
            ValueError: x has another width, or position_ids (n,) or (batch, n) do not fit.
        """
        has_width("x", x, self.d_model)
        with without_autocast(x):
            x = x.to(self.k_proj.weight.dtype)
            return self._turned(self.k_norm(self.k_proj(x)).unsqueeze(1), position_ids)[:, 0]

    def scores(
        self,
        x: Tensor,
        keys: Tensor | None = None,
        *,
        asking: Tensor | None = None,
        position_ids: Tensor | None = None,
    ) -> Tensor:
        """Score every key for every token of x, whoever may see it: what `imitation_loss` trains.

        Args:
            x: tokens that ask, (batch, n_q, d_model).
            keys: as `keys` makes them, (batch, n_k, width); those of x unless given.
            asking: what the queries are made of, (batch, n_q, d_query); x unless given.
            position_ids: where the tokens of x stand, (n_q,) or (batch, n_q); at the end unless given.

        Returns:
            Scores (batch, n_q, n_k).
        """
        return index_scores(*self._asked(x, keys, asking, position_ids))

    @by_name
    def forward(
        self,
        x: Tensor,
        *,
        keys: Tensor | None = None,
        asking: Tensor | None = None,
        mask: Tensor | None = None,
        key_mask: Tensor | None = None,
        is_causal: bool = False,
        position_ids: Tensor | None = None,
    ) -> Tensor:
        """Choose, portion by portion of the queries: no table of all pairs is held.

        Args:
            x: as in `scores`, and so are keys, asking and position_ids.
            keys: as above.
            asking: as above.
            mask: boolean, True = may be chosen: (n_q, n_k), or (batch or 1, 1, n_q or 1, n_k or 1), the same
                for all heads, since they choose together.
            key_mask: boolean (batch, n_k) or (batch, 1, n_k); True = a real token.
            is_causal: hide later keys; the queries are the last n_q of the n_k tokens.
            position_ids: as above.

        Returns:
            Places (batch, n_q, min(top, n_k)), as `top_keys` makes them.

        Raises:
            TypeError: a mask is not boolean.
            ValueError: a shape does not fit.
        """
        q, k, weights = (x.detach() for x in self._asked(x, keys, asking, position_ids))
        (batch, _, n_q, _), n_k = q.shape, k.shape[1]
        seen = torch.ones(1, 1, 1, dtype=torch.bool, device=x.device)
        if mask is not None:
            check_mask(mask, (batch, 1, n_q, n_k))
            seen = mask[None] if mask.dim() == 2 else mask[:, 0]
        if key_mask is not None:
            seen = seen & row_of_keys(key_mask, (batch,), n_k)
        at = torch.arange(n_k - n_q, n_k, device=x.device)[:, None]
        places, portion = [], max(1, SCORED // max(1, batch * self.n_heads * n_k))
        for start in range(0, max(n_q, 1), portion):
            end = min(start + portion, n_q)
            n_seen = n_k - n_q + end if is_causal else n_k
            allowed = seen[:, start:end] if seen.shape[1] > 1 else seen
            allowed = allowed[..., :n_seen]
            if is_causal:
                allowed = allowed & (torch.arange(n_seen, device=x.device) <= at[start:end])
            own = index_scores(q[:, :, start:end], k[:, :n_seen], weights[:, start:end])
            found = top_keys(own, self.top, mask=allowed)
            places.append(F.pad(found, (0, min(self.top, n_k) - found.shape[-1]), value=-1))
        return torch.cat(places, 1)

    def _asked(
        self, x: Tensor, keys: Tensor | None, asking: Tensor | None, position_ids: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return queries (batch, n_heads, n_q, width), keys (batch, n_k, width), weights of the heads."""
        has_width("x", x, self.d_model)
        if x.dim() != 3:
            raise ValueError(f"x must have shape (batch, n, d_model), got {tuple(x.shape)}")
        asking, dtype = x if asking is None else asking, self.q_proj.weight.dtype
        has_shape("asking", asking, (*x.shape[:2], self.q_proj.in_features), "(batch, n_q, d_query)")
        keys = self.keys(x, position_ids=position_ids) if keys is None else keys
        has_shape("keys", keys, (len(x), keys.shape[1], self.width), "(batch, n_k, width)")
        with without_autocast(x):  # in the dtype of the parameters: near scores are told apart
            q = self.q_proj(asking.to(dtype)).unflatten(-1, (self.n_heads, self.width)).transpose(1, 2)
            weights = self.weights_proj(x.to(dtype)) * (self.n_heads * self.width) ** -0.5
            return self._turned(q, position_ids, keys.shape[1] - x.shape[1]), keys, weights

    def _turned(self, x: Tensor, position_ids: Tensor | None, before: int = 0) -> Tensor:
        """Turn vectors (batch, heads, n, width) by their positions, after `before` others unless given."""
        if self.rotary is None:
            return x
        return self.rotary(x, x[:, :0], token_positions(position_ids, x[:, 0], before))[0]


SCORED = 2**20
"""How many scores of small heads are held at once."""


class SelectedAttention(nn.Module):
    """Put an indexer before the attention of a layer: all its heads read the keys that the indexer chose.

    Latent attention is read in its absorbed form: what is gathered is one latent a token, for all heads. The
    queries of its indexer are made of the compressed query, if the heads have one (known from DeepSeek's
    code). With `MultiHeadAttention` each key-value head gathers for itself; one is cheapest.

    Equal to the layer of heads under the mask of what is chosen; where no more than `top` keys may be seen,
    under its own mask. A layer trained densely goes on from here, once the indexer has learned to imitate it
    (`imitation_loss`).

    Args:
        heads: the attention, without `score_mod`, sinks or differences.
        indexer: what chooses, for tokens of the same width.

    Raises:
        TypeError: one is something else.
        ValueError: their widths differ, or the heads change scores, or have sinks or differences.

    References:
        DeepSeek-AI 2025 (DeepSeek-V3.2), section 2.1.

    >>> layer = SelectedAttention(MultiHeadAttention(16, 4, rotary=True), Indexer(16, top=3))
    >>> layer(torch.randn(2, 7, 16), is_causal=True).shape
    torch.Size([2, 7, 16])
    """

    def __init__(self, heads: MultiHeadAttention | LatentAttention, indexer: Indexer) -> None:
        super().__init__()
        for name, part, kinds in (
            ("heads", heads, (MultiHeadAttention, LatentAttention)),
            ("indexer", indexer, (Indexer,)),
        ):
            if not isinstance(part, kinds):
                wanted = " or ".join(kind.__name__ for kind in kinds)
                raise TypeError(f"{name} must be {wanted}, got {type(part).__name__}")
        if any(getattr(heads, name, None) is not None for name in ("score_mod", "sinks", "difference")):
            raise ValueError("heads must have no score_mod, sinks or differences")
        compressed = getattr(heads, "q_down", None)
        d_query = heads.d_model if compressed is None else compressed.out_features
        got = indexer.d_model, indexer.q_proj.in_features
        if got != (heads.d_model, d_query):
            raise ValueError(f"indexer must have d_model and d_query = {(heads.d_model, d_query)}, got {got}")
        self.heads, self.indexer = heads, indexer

    @by_name
    def forward(
        self,
        x: Tensor,
        *,
        mask: Tensor | None = None,
        key_mask: Tensor | None = None,
        is_causal: bool = False,
        cache: IndexedCache | None = None,
        position_ids: Tensor | None = None,
    ) -> Tensor:
        """Attend within x, or from new tokens to what the indexer chooses from all that a cache remembers.

        Args:
            x: tokens (batch, n_q, d_model).
            mask: as in `Indexer.forward`, the same for all heads.
            key_mask: boolean (batch, n_k) or (batch, 1, n_k); True = a real token.
            is_causal: hide later tokens.
            cache: the tokens before x, as `new_cache` makes it; then `is_causal` goes without saying. A call
                that is refused or stopped leaves it as it was.
            position_ids: where the tokens of x stand, (n_q,) or (batch, n_q).

        Returns:
            Output (batch, n_q, d_model).

        Raises:
            TypeError: a mask is not boolean, or the cache is something else.
            ValueError: a shape does not fit, or the cache is full.
        """
        heads, before, latent = self.heads, 0, isinstance(self.heads, LatentAttention)
        if cache is not None:
            if not isinstance(cache, IndexedCache):
                raise TypeError(f"cache must be what new_cache made, got {type(cache).__name__}")
            before = cache.length
        turned_at = position_ids if heads.rotary is not None else None
        if latent:
            q, k = heads._project(x, cache, turned_at)
            v = k[..., :0]  # read off the keys
        else:
            q, k, v = heads._project(x, None, cache, turned_at)
        if position_ids is None:
            position_ids = torch.arange(before, before + x.shape[1], device=x.device)
        compressed = getattr(heads, "q_down", None)
        asking = None if compressed is None else _normed(heads.q_norm, compressed(x))
        index = self.indexer.keys(x, position_ids=position_ids)
        with all_or_nothing(cache):
            if cache is not None:
                k, v, index = cache.append(k, v, index)
            places = self.indexer(
                x,
                keys=index,
                asking=asking,
                mask=mask,
                key_mask=key_mask,
                is_causal=is_causal or cache is not None,
                position_ids=position_ids,
            )
            dropout = heads.dropout if self.training else 0.0
            if latent:
                up_k, up_v = heads._up()
                asked, turned = q.split((heads.d_head, heads.d_rotary), -1)
                q = torch.cat((asked @ up_k, turned), -1)  # (batch, n_heads, n_q, d_kept)
                out = selected_attention(q, k, k, places, scale=heads.scale, dropout=dropout)
                out = out[..., : heads.d_latent] @ up_v.mT
                return heads.out_proj(out.transpose(1, 2).flatten(-2))
            out = selected_attention(q, k, v, places, dropout=dropout)
            return heads._mixed(out, x)

    def new_cache(self, batch: int, capacity: int) -> IndexedCache:
        """Set aside room for what the heads keep of each token, and for the keys of the indexer.

        Args:
            batch: sequences side by side.
            capacity: tokens there is room for.
        """
        heads, like = self.heads, self.heads.out_proj.weight
        options = {"device": like.device, "dtype": like.dtype}
        if isinstance(heads, LatentAttention):
            return IndexedCache(batch, 1, capacity, heads.d_kept, self.indexer.width, d_v=0, **options)
        return IndexedCache(batch, heads.n_kv_heads, capacity, heads.d_head, self.indexer.width, **options)
