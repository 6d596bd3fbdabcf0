"""Many heads side by side, with keys and values of their own or shared, and decoding with a cache."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Literal, get_args

import torch
from torch import Tensor, nn

from attnlab.arguments import (
    Device,
    answers,
    at_least,
    by_name,
    chance,
    check_options,
    divides,
    grouped_scores_shape,
    has_shape,
    has_width,
    is_score_mod,
)
from attnlab.cache import KVCache, all_or_nothing, token_positions, visible_pairs
from attnlab.differential import Difference
from attnlab.dot_product import ScoreMod, _attend_in_groups
from attnlab.positions import RotaryPositions
from attnlab.rolling import RollingCache

Rotation = Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]
Gate = Literal["elementwise", "headwise"]


class MultiHeadAttention(nn.Module):
    """Several heads side by side, each with its own small queries, keys and values.

    The heads are slices of three wide projections; a last projection mixes what they found. With d_head =
    d_model / n_heads this is `torch.nn.MultiheadAttention` with `batch_first=True`, equal to rounding when it
    holds the same weights (`from_torch`), but for two choices: True in a mask means "may attend", and a query
    that may attend to nothing gets the output projection of zeros instead of NaN.

    With n_kv_heads < n_heads, groups of query heads share keys and values: grouped-query attention, and
    multi-query attention with a single one.

    Runs wherever `attention` does: autocast, `torch.func`, `torch.compile(fullgraph=True)`. With a cache it
    wants `no_grad` or `inference_mode`, and no `vmap`: a cache is written in place.

    Args:
        d_model: width of tokens and output.
        n_heads: number of query heads.
        n_kv_heads: number of key-value heads, a divisor of n_heads; as many as n_heads unless given.
        d_head: width of one head; d_model / n_heads unless given.
        bias: whether the four projections have a bias.
        rotary: turn queries and keys by their positions; self-attention only. True for
            `positions.RotaryPositions()`, or one made with another base or layout, or any function of
            (queries, keys, positions) that returns both, turned.
        score_mod: changes the scaled scores before bias and mask, as in `attention`; h counts query heads,
            q_idx and kv_idx count the tokens of a sequence from its first one, those in a cache too, whatever
            `position_ids` say. A module that is given trains with the layer.
        qk_norm: bring each query and each key to a common size, by an RMS norm with factors (d_head,), before
            they are turned. What the layer has as `q_norm` and `k_norm` may be another module.
        sinks: learn for each head the score of nothing, as in `attention`; 0 at first. The weights of a row
            sum to less than one.
        gate: multiply what the heads bring by the sigmoid of a projection of x: "elementwise" each number by
            its own, "headwise" all of a head's by one.
        differential: make the heads pairs that bring a `Difference`, whose λ starts here. Weights are still
            those of single heads, and so are `head_weights`. n_heads and n_kv_heads are even.
        dropout: chance of each weight to be dropped, in training, as in torch's layer.
        device: where the parameters are made.
        dtype: dtype of the parameters.

    Raises:
        TypeError: score_mod is no function.
        ValueError: n_heads is smaller than 1 or, without d_head, does not divide d_model; n_kv_heads does not
            divide n_heads; dropout is no chance; there is no such gate; or heads that make pairs are odd.

    References:
        Vaswani et al. 2017, section 3.2.2; Shazeer 2019, section 3; Ainslie et al. 2023, section 2.2. Norms
        of queries and keys: Henry et al. 2020, section 3; per head and with RMS: Yang et al. 2025, section 2.
        Sinks: OpenAI 2025, section 2.2. Gates: Qiu et al. 2025, section 2.2. Differences: Ye et al. 2024,
        section 2.1.

    >>> layer = MultiHeadAttention(d_model=16, n_heads=4)
    >>> out, weights = layer(torch.zeros(2, 5, 16), need_weights=True)
    >>> out.shape, weights.shape
    (torch.Size([2, 5, 16]), torch.Size([2, 4, 5, 5]))
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        n_kv_heads: int | None = None,
        d_head: int | None = None,
        bias: bool = True,
        rotary: bool | Rotation = False,
        score_mod: ScoreMod | None = None,
        qk_norm: bool = False,
        sinks: bool = False,
        gate: Gate | None = None,
        differential: float | None = None,
        dropout: float = 0.0,
        device: Device = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        at_least(1, d_model=d_model, n_heads=n_heads)
        n_kv_heads = n_heads if n_kv_heads is None else n_kv_heads
        divides(n_heads, n_kv_heads=n_kv_heads)
        if d_head is None:
            if d_model % n_heads:
                raise ValueError(f"n_heads must divide d_model = {d_model}, got {n_heads}; or give d_head")
            d_head = d_model // n_heads
        at_least(1, d_head=d_head)
        if rotary is True and d_head % 2:
            raise ValueError(f"rotary turns pairs: d_head must be even, got {d_head}")
        chance(dropout=dropout)
        if score_mod is not None:
            is_score_mod(score_mod)
        if gate is not None and gate not in get_args(Gate):
            raise ValueError(f"gate must be None or one of {get_args(Gate)}, got {gate!r}")
        self.d_model, self.n_heads, self.n_kv_heads = d_model, n_heads, n_kv_heads
        self.d_head, self.dropout = d_head, dropout
        self.rotary = RotaryPositions() if rotary is True else (rotary or None)
        self.score_mod = score_mod
        factory_kwargs = {"device": device, "dtype": dtype}
        parameter_options = {"bias": bias, **factory_kwargs}
        self.q_proj = nn.Linear(d_model, n_heads * d_head, **parameter_options)
        self.k_proj = nn.Linear(d_model, n_kv_heads * d_head, **parameter_options)
        self.v_proj = nn.Linear(d_model, n_kv_heads * d_head, **parameter_options)
        self.out_proj = nn.Linear(n_heads * d_head, d_model, **parameter_options)
        self.q_norm = self.k_norm = self.sinks = self.gate_proj = self.difference = None
        if qk_norm:
            self.q_norm, self.k_norm = (nn.RMSNorm(d_head, eps=1e-6, **factory_kwargs) for _ in range(2))
        if sinks:
            self.sinks = nn.Parameter(torch.zeros(n_heads, **factory_kwargs))
        if differential is not None:
            _are_pairs(n_kv_heads)
            self.difference = Difference(d_head, start=differential, **factory_kwargs)
        if gate is not None:
            n_out = n_heads if differential is None else n_heads // 2
            self.gate_proj = nn.Linear(
                d_model, n_out if gate == "headwise" else n_heads * d_head, **parameter_options
            )

    @by_name
    def forward(
        self,
        x: Tensor,
        *,
        context: Tensor | None = None,
        mask: Tensor | None = None,
        key_mask: Tensor | None = None,
        bias: Tensor | None = None,
        is_causal: bool = False,
        need_weights: bool = False,
        head_weights: Tensor | None = None,
        cache: KVCache | None = None,
        position_ids: Tensor | None = None,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Attend within x, from x to a context, or from new tokens to all that a cache remembers.

        Args:
            x: tokens that ask, (batch, n_q, d_model).
            context: tokens that answer, (batch, n_k, d_model); x itself unless given. In an encoder-decoder
                the queries come from the decoder (x), keys and values from the encoder (context).
            mask: boolean, True = may attend: (n_q, n_k), or with the four dimensions of the scores,
                (batch or 1, n_heads or 1, n_q or 1, n_k or 1). One for each sequence is `mask[:, None]`.
            key_mask: boolean (batch, n_k), or (batch, 1, n_k) as `masks.padding` makes it; True = a real
                token, False = padding.
            bias: added to the scaled scores; the shapes of `mask`.
            is_causal: hide later tokens.
            need_weights: return the weights (batch, n_heads, n_q, n_k) as well, as they were used.
            head_weights: (n_heads,) factor on the output of each head; 0 removes one.
            cache: the tokens before x. Keys and values of x are added to it, each token sees itself and all
                before it (`is_causal` goes without saying), and n_k counts the cached tokens too. A call that
                is refused or stopped leaves it as it was.
            position_ids: where the tokens of x stand, (n_q,) or (batch, n_q), for `rotary`; counted from the
                first one in the cache unless given.

        Returns:
            Output (batch, n_q, d_model), with `need_weights` also the weights.

        Raises:
            TypeError: a mask is not boolean, or x, the context or the cache is something else.
            ValueError: a shape does not fit, or the cache is full; the message names it.
        """
        q, k, v = self._project(x, context, cache, position_ids)
        with all_or_nothing(cache):
            score_mod = self.score_mod
            if cache is not None:
                if score_mod is not None:
                    score_mod = _in_text(score_mod, cache, q)
                k, v = cache.append(k, v)
            if self.difference is not None:
                v = self.difference.widened(v)
            (batch, _, n_q, _), n_k = q.shape, k.shape[2]
            shape = (batch, self.n_heads, n_q, n_k)
            check_options(shape, mask, bias, is_causal=is_causal and cache is None)
            if head_weights is not None:
                has_shape("head_weights", head_weights, (self.n_heads,), "(n_heads,)")
            mask, is_causal = visible_pairs(shape, cache, mask, key_mask, is_causal)
            result = _attend_in_groups(
                q,
                k,
                v,
                shape,
                mask=mask,
                bias=bias,
                score_mod=score_mod,
                is_causal=is_causal,
                dropout=self.dropout if self.training else 0.0,
                sinks=self.sinks,
                need_weights=need_weights,
            )
            heads, weights = result if need_weights else (result, None)
            if head_weights is not None:
                heads = heads * head_weights[:, None, None]
            out = self._mixed(heads, x)
            return (out, weights) if need_weights else out

    def new_cache(self, batch: int, capacity: int, *, rolling: bool = False) -> KVCache:
        """Set aside room for the keys and values of a decoding.

        Args:
            batch: sequences side by side.
            capacity: tokens there is room for.
            rolling: let new tokens take the places of the oldest (`RollingCache`).

        Returns:
            An empty cache, on the layer's device and in its dtype.
        """
        like = self.k_proj.weight
        kind = RollingCache if rolling else KVCache
        return kind(batch, self.n_kv_heads, capacity, self.d_head, device=like.device, dtype=like.dtype)

    def grouped(self, n_kv_heads: int) -> MultiHeadAttention:
        """Make a copy in which groups of query heads share one key-value head: the mean of their own.

        Args:
            n_kv_heads: a divisor of this layer's number of key-value heads.

        Returns:
            A new layer, to be trained a little further.

        Raises:
            ValueError: n_kv_heads does not divide the number of key-value heads, or is odd where these make
                pairs.

        References:
            Ainslie et al. 2023, section 2.1.

        >>> MultiHeadAttention(d_model=16, n_heads=4).grouped(2).k_proj.weight.shape
        torch.Size([8, 16])
        """
        divides(self.n_kv_heads, n_kv_heads=n_kv_heads)
        if self.difference is not None:
            _are_pairs(n_kv_heads)
        pooled = copy.deepcopy(self)  # with all that it was made with, and in its mode
        pooled.n_kv_heads = n_kv_heads
        for name in ("k_proj", "v_proj"):
            projection = getattr(pooled, name)
            projection.out_features = n_kv_heads * self.d_head
            for key, rows in projection.named_parameters():
                mean = rows.detach().unflatten(0, (n_kv_heads, -1, self.d_head)).mean(1).flatten(0, 1)
                setattr(projection, key, nn.Parameter(mean, requires_grad=rows.requires_grad))
        return pooled

    @classmethod
    def from_torch(cls, other: nn.MultiheadAttention) -> MultiHeadAttention:
        """Build the layer that computes what a `torch.nn.MultiheadAttention` computes.

        Args:
            other: a layer whose keys and values have the width of its queries, without `add_bias_kv` or
                `add_zero_attn`. Its `batch_first` does not matter.

        Returns:
            A new layer with a copy of its weights, its device, dtype, dropout and mode.

        Raises:
            TypeError: it is another layer.
            ValueError: the layer has parts that ours does not.

        >>> torch.manual_seed(0)  # doctest: +ELLIPSIS
        <torch...>
        >>> theirs = nn.MultiheadAttention(8, 2, batch_first=True)
        >>> x = torch.randn(1, 3, 8)
        >>> torch.allclose(MultiHeadAttention.from_torch(theirs)(x), theirs(x, x, x)[0], atol=1e-6)
        True
        """
        if not isinstance(other, nn.MultiheadAttention):
            raise TypeError(f"other must be a torch.nn.MultiheadAttention, got {type(other).__name__}")
        if other.in_proj_weight is None or other.bias_k is not None or other.add_zero_attn:
            raise ValueError("other must share one width (no kdim, vdim, add_bias_kv, add_zero_attn)")
        like = other.in_proj_weight
        ours = cls(
            other.embed_dim,
            other.num_heads,
            bias=other.in_proj_bias is not None,
            dropout=other.dropout,
            device=like.device,
            dtype=like.dtype,
        )
        in_proj = {"weight": like, "bias": other.in_proj_bias}
        thirds = {key: value.detach().chunk(3) for key, value in in_proj.items() if value is not None}
        for i, projection in enumerate((ours.q_proj, ours.k_proj, ours.v_proj)):
            projection.load_state_dict({key: chunks[i] for key, chunks in thirds.items()})
        ours.out_proj.load_state_dict(other.out_proj.state_dict())
        return ours.train(other.training)

    def _project(
        self, x: Tensor, context: Tensor | None, cache: KVCache | None, position_ids: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return queries (batch, n_heads, n_q, d_head), keys and values (batch, n_kv_heads, n_k, d_head)."""
        if cache is not None and not isinstance(cache, KVCache):
            raise TypeError(f"cache must be a KVCache, that of this layer, got {type(cache).__name__}")
        has_width("x", x, self.d_model)
        if x.dim() != 3:
            raise ValueError(f"x must have shape (batch, n, d_model), got {tuple(x.shape)}")
        if context is None:
            context = x
        elif cache is not None:
            raise ValueError("a cache grows with x: context must be None")
        elif self.rotary is not None:
            raise ValueError("rotary positions compare places in one sequence: context must be None")
        else:
            answers("context", context, x, self.d_model)
        q, k, v = (
            self._split(project(tokens))
            for project, tokens in ((self.q_proj, x), (self.k_proj, context), (self.v_proj, context))
        )
        if self.q_norm is not None:
            whole = self.k_proj.weight.dtype  # that of the factors, where autocast made halves of q and k
            q, k = self.q_norm(q.to(whole)).to(v.dtype), self.k_norm(k.to(whole)).to(v.dtype)
        if self.rotary is not None:
            position_ids = token_positions(position_ids, x, 0 if cache is None else cache.length)
            q, k = self.rotary(q, k, position_ids)
            if not isinstance(self.rotary, RotaryPositions):
                grouped_scores_shape(q, k, v)  # a function of the caller's may return anything
        elif position_ids is not None:
            raise ValueError("position_ids turn queries and keys: the layer must be made with rotary=")
        return q, k, v

    def _mixed(self, heads: Tensor, x: Tensor) -> Tensor:
        """Turn what heads (batch, heads, n_q, d) found for tokens x into the output (batch, n_q, d_model)."""
        if self.difference is not None:
            heads = self.difference(heads)
        heads = heads.transpose(1, 2)  # (batch, n_q, heads, d)
        if self.gate_proj is not None:
            gate = self.gate_proj(x).unflatten(-1, (heads.shape[2], -1)).sigmoid()
            heads = heads * gate  # of (batch, n_q, heads, d or 1)
        return self.out_proj(heads.flatten(-2))

    def _split(self, x: Tensor) -> Tensor:
        # First cut the width into heads, then move the heads forward. A direct view to (batch, heads, n, d)
        # has the same shape and mixes up tokens and heads.
        return x.unflatten(-1, (-1, self.d_head)).transpose(1, 2)  # (batch, heads, n, d_head)


def _are_pairs(n_kv_heads: int) -> None:
    if n_kv_heads % 2:
        raise ValueError(f"differential pairs heads: n_kv_heads must be even, got {n_kv_heads}")


def _in_text(score_mod: ScoreMod, cache: KVCache, q: Tensor) -> ScoreMod:
    """Let a function of scores count queries and keys from the first token of the text, cached ones too."""
    before, order = cache.length, None
    if isinstance(cache, RollingCache) and q.shape[2] == 1:
        order = torch.tensor(cache.next_order, device=q.device)  # the tokens that the slots will hold

    def of_text(score: Tensor, b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
        return score_mod(score, b, h, q_idx + before, kv_idx if order is None else order)

    return of_text
