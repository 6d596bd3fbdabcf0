"""Keys and values compressed into one short vector a token, the latent: all that decoding has to keep."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnlab.arguments import (
    Device,
    at_least,
    by_name,
    chance,
    check_options,
    has_shape,
    has_width,
)
from attnlab.cache import KVCache, all_or_nothing, token_positions, visible_pairs
from attnlab.dot_product import _attend_in_groups
from attnlab.multihead import Rotation
from attnlab.positions import RotaryPositions
from attnlab.rolling import RollingCache

Form = Literal["plain", "absorbed"]
PARTS = {
    "q_a_proj": "q_down",
    "q_a_layernorm": "q_norm",
    "q_b_proj": "q_proj",
    "kv_a_proj_with_mqa": "kv_down",
    "kv_a_layernorm": "kv_norm",
    "kv_b_proj": "kv_up",
    "o_proj": "out_proj",
}
"""What published weights call the parts of a layer, and what we call them."""


class LatentAttention(nn.Module):
    """Many heads that read keys and values out of one latent a token, and one rotary key that all share.

    From token x come a latent c = norm(x W_c) of width d_latent and a rotary key r = R x W_r. Head h reads
    its key c U_h and its value c V_h out of the latent. A query has two parts, q for the key and R q' for the
    rotary key:

        score = (q (c U_h)ᵀ + (R q') rᵀ) / sqrt(d_head + d_rotary)        the *plain* form
              = ((q U_hᵀ) cᵀ + (R q') rᵀ) / sqrt(d_head + d_rotary)       the *absorbed* form

    and the output of a head is likewise weights (c V_h) or (weights c) V_h. The absorbed form never makes the
    keys and values of the heads: it is multi-query attention with one wide key [c, r], whose value is c. Both
    are equal to rounding. A rotation between q and U_h would depend on both places and could not be absorbed:
    so the positions have a key of their own. A cache holds c and r alone.

    Multiplications, a head, of n_q queries and n_k keys, beside projections that both forms have (a value
    counts as wide as its key, since fused kernels want it so):

        plain     n_k · d_latent · (d_head + d_v)  +  2 · n_q · n_k · (d_head + d_rotary)
        absorbed  n_q · d_latent · (d_head + d_v)  +  2 · n_q · n_k · (d_latent + d_rotary)

    Unless told, a call takes the cheaper one: as a rule the plain one to read a prompt, the absorbed one to
    decode. The layer may take the place of the `attention` of an `EncoderLayer`.

    Args:
        d_model: width of tokens and output.
        n_heads: number of heads.
        d_latent: width of the latent (`kv_lora_rank`).
        d_head: width of the part of a query and key without positions (`qk_nope_head_dim`).
        d_rotary: width of the part that is turned by its position, even, or 0 for none (`qk_rope_head_dim`).
        d_v: width of a value (`v_head_dim`); d_head unless given.
        d_query_latent: width of a latent that queries are read out of (`q_lora_rank`), if they are.
        bias: whether the projections of a token, and the last one, have a bias.
        rotary: what turns the rotary parts: True for `positions.RotaryPositions()`, or one made with another
            base or layout, or any function of (queries, keys, positions) that returns both, turned; False if
            nothing turns them.
        scale: factor on the scores; 1/sqrt(d_head + d_rotary) unless given. A model whose positions were
            stretched has one of its own.
        eps: of the norms of the latents.
        dropout: chance of each weight to be dropped, in training.
        device: where the parameters are made.
        dtype: dtype of the parameters.

    Raises:
        ValueError: a width is too small, d_rotary is odd, or dropout is no chance.

    References:
        DeepSeek-AI 2024a (DeepSeek-V2), sections 2.1.2, 2.1.3 and 3.1.2 (the norms), appendix C; DeepSeek-AI
        2024b (DeepSeek-V3), section 2.1.1. Where the norms stand is known from code.

    >>> layer = LatentAttention(d_model=16, n_heads=4, d_latent=6, d_head=4, d_rotary=2)
    >>> cache = layer.new_cache(batch=1, capacity=8)
    >>> with torch.no_grad():
    ...     out = layer(torch.zeros(1, 5, 16), cache=cache)
    >>> out.shape, layer.d_kept  # numbers a token; keys and values of four heads would be 40
    (torch.Size([1, 5, 16]), 8)
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        d_latent: int,
        d_head: int,
        d_rotary: int,
        d_v: int | None = None,
        d_query_latent: int | None = None,
        bias: bool = False,
        rotary: bool | Rotation = True,
        scale: float | None = None,
        eps: float = 1e-6,
        dropout: float = 0.0,
        device: Device = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        d_v = d_head if d_v is None else d_v
        at_least(0, d_rotary=d_rotary)
        at_least(1, d_model=d_model, n_heads=n_heads, d_latent=d_latent, d_head=d_head, d_v=d_v)
        if rotary is True and d_rotary % 2:
            raise ValueError(f"rotary turns pairs: d_rotary must be even, got {d_rotary}")
        chance(dropout=dropout)
        self.d_model, self.n_heads, self.d_latent, self.dropout = d_model, n_heads, d_latent, dropout
        self.d_head, self.d_rotary, self.d_v = d_head, d_rotary, d_v
        self.d_kept = d_latent + d_rotary
        """Numbers that a cache keeps of a token."""
        self.rotary = (RotaryPositions() if rotary is True else (rotary or None)) if d_rotary else None
        self.scale = (d_head + d_rotary) ** -0.5 if scale is None else scale
        factory = {"device": device, "dtype": dtype}
        self.q_down = self.q_norm = None
        if d_query_latent is not None:
            at_least(1, d_query_latent=d_query_latent)
            self.q_down = nn.Linear(d_model, d_query_latent, bias=bias, **factory)
            self.q_norm = nn.RMSNorm(d_query_latent, eps=eps, **factory)
        self.q_proj = nn.Linear(
            d_query_latent or d_model, n_heads * (d_head + d_rotary), bias=False, **factory
        )
        self.kv_down = nn.Linear(d_model, self.d_kept, bias=bias, **factory)
        self.kv_norm = nn.RMSNorm(d_latent, eps=eps, **factory)
        self.kv_up = nn.Linear(d_latent, n_heads * (d_head + d_v), bias=False, **factory)
        self.out_proj = nn.Linear(n_heads * d_v, d_model, bias=bias, **factory)

    @by_name
    def forward(
        self,
        x: Tensor,
        *,
        mask: Tensor | None = None,
        key_mask: Tensor | None = None,
        bias: Tensor | None = None,
        is_causal: bool = False,
        need_weights: bool = False,
        head_weights: Tensor | None = None,
        cache: KVCache | None = None,
        position_ids: Tensor | None = None,
        form: Form | None = None,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Attend within x, or from new tokens to all that a cache remembers.

        Args:
            x: tokens (batch, n_q, d_model).
            mask: boolean, True = may attend: (n_q, n_k), or (batch or 1, n_heads or 1, n_q or 1, n_k or 1).
            key_mask: boolean (batch, n_k), or (batch, 1, n_k) as `masks.padding` makes it; True = a real
                token, False = padding.
            bias: added to the scaled scores; the shapes of `mask`.
            is_causal: hide later tokens.
            need_weights: return the weights (batch, n_heads, n_q, n_k) as well, as they were used.
            head_weights: (n_heads,) factor on the output of each head; 0 removes one.
            cache: the tokens before x, from `new_cache`. Latents and rotary keys of x are added to it, each
                token sees itself and all before it, and n_k counts the cached tokens too. A call that is
                refused or stopped leaves it as it was.
            position_ids: where the tokens of x stand, (n_q,) or (batch, n_q); counted from the first one in
                the cache unless given.
            form: "plain" or "absorbed"; the one with fewer multiplications unless given.

        Returns:
            Output (batch, n_q, d_model), with `need_weights` also the weights.

        Raises:
            TypeError: a mask is not boolean, or x or the cache is something else.
            ValueError: a shape does not fit, the cache is full, or there is no such form.
        """
        if form not in (None, *get_args(Form)):
            raise ValueError(f"form must be None or one of {get_args(Form)}, got {form!r}")
        q, kept = self._project(x, cache, position_ids)
        with all_or_nothing(cache):
            if cache is not None:
                kept, _ = cache.append(kept, kept[..., :0])
            (batch, _, n_q, _), n_k = q.shape, kept.shape[2]
            shape = (batch, self.n_heads, n_q, n_k)
            check_options(shape, mask, bias, is_causal=is_causal and cache is None)
            if head_weights is not None:
                has_shape("head_weights", head_weights, (self.n_heads,), "(n_heads,)")
            mask, is_causal = visible_pairs(shape, cache, mask, key_mask, is_causal)
            up_k, up_v = self._up()
            absorbed = (form or self._cheaper(n_q, n_k)) == "absorbed"
            if absorbed:
                asked, turned = q.split((self.d_head, self.d_rotary), -1)
                q = torch.cat((asked @ up_k, turned), -1)  # (batch, n_heads, n_q, d_kept)
                k = v = kept  # what a head reads is the latent, the first d_latent numbers of it
            else:
                k, v = self._expand(kept)
            result = _attend_in_groups(
                q,
                k,
                v,
                shape,
                mask=mask,
                bias=bias,
                scale=self.scale,
                is_causal=is_causal,
                dropout=self.dropout if self.training else 0.0,
                need_weights=need_weights,
            )
            heads, weights = result if need_weights else (result, None)
            heads = heads[..., : self.d_latent] @ up_v.mT if absorbed else heads[..., : self.d_v]
            if head_weights is not None:
                heads = heads * head_weights[:, None, None]
            out = self.out_proj(heads.transpose(1, 2).flatten(-2))  # (batch, n_q, d_model)
            return (out, weights) if need_weights else out

    def new_cache(self, batch: int, capacity: int, *, rolling: bool = False) -> KVCache:
        """Set aside room for the latents and rotary keys of a decoding: `d_kept` numbers a token.

        Args:
            batch: sequences side by side.
            capacity: tokens there is room for.
            rolling: let new tokens take the places of the oldest (`RollingCache`).

        Returns:
            An empty cache, on the layer's device and in its dtype. Its keys are (batch, 1, n, d_kept), latent
            first; values are read off them and take no room.
        """
        like, kind = self.kv_down.weight, RollingCache if rolling else KVCache
        return kind(batch, 1, capacity, self.d_kept, d_v=0, device=like.device, dtype=like.dtype)

    @classmethod
    def from_deepseek(
        cls,
        state: Mapping[str, Tensor],
        config: Mapping[str, Any],
        *,
        rotary: bool | Rotation | None = None,
        scale: float | None = None,
    ) -> LatentAttention:
        """Build a layer of published weights of DeepSeek-V2, V3, R1, or another model with their names.

        Args:
            state: the tensors of one layer's attention: "kv_a_proj_with_mqa.weight" and so on.
            config: the model's `config.json`, of which the sizes, `rope_theta`, `rope_interleave`,
                `attention_bias` and `attention_dropout` are read.
            rotary: what turns queries and keys, where the positions were stretched (`rope_scaling`).
            scale: the factor on the scores there.

        Returns:
            A new layer with a copy of the weights, in their dtype and on their device.

        Raises:
            KeyError: the configuration lacks a size.
            ValueError: the positions were stretched, and `rotary` is not given.
            RuntimeError: the tensors are those of another layer.

        References:
            The code published with DeepSeek-V3; names and defaults are known from code.
        """
        if rotary is None:
            if config.get("rope_scaling"):
                raise ValueError("config has rope_scaling: give what turns its positions, rotary= and scale=")
            layout = "interleaved" if config.get("rope_interleave", True) else "halves"
            rotary = RotaryPositions(base=config.get("rope_theta", 10000.0), layout=layout)
        layer = cls(
            config["hidden_size"],
            config["num_attention_heads"],
            d_latent=config["kv_lora_rank"],
            d_head=config["qk_nope_head_dim"],
            d_rotary=config["qk_rope_head_dim"],
            d_v=config["v_head_dim"],
            d_query_latent=config.get("q_lora_rank"),
            bias=config.get("attention_bias", False),
            rotary=rotary,
            scale=scale,
            dropout=config.get("attention_dropout", 0.0),
            device="meta",  # no numbers are drawn only to be overwritten
        )
        parts = (name.rpartition(".") for name in state)
        ours = {f"{PARTS.get(part, part)}.{kind}": state[f"{part}.{kind}"] for part, _, kind in parts}
        layer.load_state_dict({name: value.detach().clone() for name, value in ours.items()}, assign=True)
        return layer

    def _cheaper(self, n_q: int, n_k: int) -> Form:
        """Return the form with fewer multiplications (see the class)."""
        expanding = (n_k - n_q) * self.d_latent * (self.d_head + self.d_v)
        d_k = self.d_head + self.d_rotary
        wider = n_q * n_k * (2 * self.d_kept - d_k - max(d_k, self.d_v))
        return "absorbed" if wider < expanding else "plain"

    def _up(self) -> tuple[Tensor, Tensor]:
        """Return what reads keys and values out of latents: (n_heads, d_head or d_v, d_latent) each."""
        return self.kv_up.weight.unflatten(0, (self.n_heads, -1)).split((self.d_head, self.d_v), 1)

    def _expand(self, kept: Tensor) -> tuple[Tensor, Tensor]:
        """Make keys (batch, n_heads, n_k, d_head + d_rotary) and values, filled up to the width of keys."""
        latent, turned = kept[:, 0].split((self.d_latent, self.d_rotary), -1)
        heads = self.kv_up(latent).unflatten(-1, (self.n_heads, -1)).transpose(1, 2)
        k, v = heads.split((self.d_head, self.d_v), -1)
        k = torch.cat((k, turned[:, None].expand(-1, self.n_heads, -1, -1)), -1)
        # Zeros beside a narrower value: kernels that never store the scores want both to be as wide.
        return k, F.pad(v, (0, max(0, k.shape[-1] - self.d_v)))

    def _project(
        self, x: Tensor, cache: KVCache | None, position_ids: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Return queries (batch, n_heads, n_q, d_head + d_rotary) and what is kept (batch, 1, n, d_kept)."""
        if cache is not None and not isinstance(cache, KVCache):
            raise TypeError(f"cache must be a KVCache, that of this layer, got {type(cache).__name__}")
        has_width("x", x, self.d_model)
        if x.dim() != 3:
            raise ValueError(f"x must have shape (batch, n, d_model), got {tuple(x.shape)}")
        asks = x if self.q_down is None else _normed(self.q_norm, self.q_down(x))
        q = self.q_proj(asks).unflatten(-1, (self.n_heads, -1)).transpose(1, 2)
        latent, r = self.kv_down(x)[:, None].split((self.d_latent, self.d_rotary), -1)
        latent = _normed(self.kv_norm, latent)  # (batch, 1, n_q, d_latent)
        if self.rotary is not None:
            position_ids = token_positions(position_ids, x, 0 if cache is None else cache.length)
            turned, r = self.rotary(q[..., self.d_head :], r, position_ids)
            q = torch.cat((q[..., : self.d_head], turned), -1)
        elif position_ids is not None:
            raise ValueError("position_ids turn queries and keys: the layer must be made with rotary=")
        return q, torch.cat((latent, r), -1)


def _normed(norm: nn.RMSNorm, x: Tensor) -> Tensor:
    """Bring vectors (..., d) to a common size, in the precision of the norm's factors under autocast too."""
    return norm(x.to(norm.weight.dtype))
