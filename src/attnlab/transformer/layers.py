"""The layers of a Transformer: attention, then a network for each token, both added to a stream."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnlab.arguments import Device, answers, at_least, by_name, has_width, row_of_keys
from attnlab.cache import KVCache, all_or_nothing
from attnlab.dot_product import grouped_attention
from attnlab.multihead import MultiHeadAttention

Norm = Literal["layer", "rms", "none"]
Activation = Literal["relu", "gelu", "gelu_tanh", "silu", "swiglu", "geglu"] | Callable[[Tensor], Tensor]

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": partial(F.gelu, approximate="tanh"),
    "silu": F.silu,
}
GATED = {"swiglu": F.silu, "geglu": F.gelu}
"""Activations that open and close a second projection, number by number."""


def make_norm(
    norm: Norm,
    d_model: int,
    *,
    eps: float = 1e-5,
    bias: bool = True,
    device: Device = None,
    dtype: torch.dtype | None = None,
) -> nn.Module:
    """Make what brings tokens back to a common size.

    Args:
        norm: "layer" takes away the mean and divides by the standard deviation; "rms" only divides, by the
            root of the mean square; "none" leaves all as it is.
        d_model: width of a token.
        eps: added to the variance or the mean square, so that a token of zeros can be divided.
        bias: whether "layer" has a bias beside its factors.
        device: where the parameters are made.
        dtype: dtype of the parameters.

    Returns:
        The module.

    Raises:
        ValueError: there is no such norm.

    References:
        Ba et al. 2016, section 3.1; Zhang and Sennrich 2019, section 4.

    >>> import torch
    >>> make_norm("layer", 3)(torch.tensor([[1.0, 2.0, 3.0]])).mul(100).round().tolist()
    [[-122.0, 0.0, 122.0]]
    """
    if norm == "layer":
        return nn.LayerNorm(d_model, eps=eps, bias=bias, device=device, dtype=dtype)
    if norm == "rms":
        return nn.RMSNorm(d_model, eps=eps, device=device, dtype=dtype)
    if norm == "none":
        return nn.Identity()
    raise ValueError(f"norm must be 'layer', 'rms' or 'none', got {norm!r}")


class FeedForward(nn.Module):
    """Work on each token by itself: widen, bend, narrow.

    out = W_out act(W_in x), or with a gated activation W_out (act(W_gate x) * W_in x).

    Args:
        d_model: width of a token.
        d_ff: width in between.
        activation: "relu", "gelu", "gelu_tanh", "silu"; "swiglu" or "geglu", which are gated; or a function
            of a tensor.
        bias: whether the projections have a bias.
        dropout: share of the middle that is dropped in training.
        device: where the parameters are made.
        dtype: dtype of the parameters.

    Raises:
        ValueError: a width is smaller than 1, or the activation is unknown.

    References:
        Vaswani et al. 2017, section 3.3; Shazeer 2020, section 2 (gated).

    >>> import torch
    >>> FeedForward(4, 16)(torch.zeros(2, 3, 4)).shape
    torch.Size([2, 3, 4])
    """

    def __init__(
        self,
        d_model: int,
        d_ff: int,
        *,
        activation: Activation = "relu",
        bias: bool = True,
        dropout: float = 0.0,
        device: Device = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        at_least(1, d_model=d_model, d_ff=d_ff)
        known = ACTIVATIONS | GATED
        if not callable(activation) and activation not in known:
            raise ValueError(f"activation must be a function or one of {list(known)}, got {activation!r}")
        self.activation = activation if callable(activation) else known[activation]
        parameter_options = {"bias": bias, "device": device, "dtype": dtype}
        self.in_proj = nn.Linear(d_model, d_ff, **parameter_options)
        self.gate_proj = nn.Linear(d_model, d_ff, **parameter_options) if activation in GATED else None
        self.out_proj = nn.Linear(d_ff, d_model, **parameter_options)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Map tokens (..., d_model) to (..., d_model)."""
        if self.gate_proj is None:
            middle = self.activation(self.in_proj(x))  # (..., d_ff)
        else:
            middle = self.activation(self.gate_proj(x)) * self.in_proj(x)
        return self.out_proj(self.dropout(middle))


class EncoderLayer(nn.Module):
    """Let tokens attend to one another, then work on each; both results are added to the stream.

    Pre-norm (`norm_first=True`) computes x + part(norm(x)), so that x itself runs through untouched.
    Post-norm computes norm(x + part(x)), as the first Transformer did and BERT does. With the weights of a
    `torch.nn.TransformerEncoderLayer` it is equal to it (`from_torch`). With `is_causal` or a cache it is the
    layer of a decoder-only model such as GPT or Llama.

    Args:
        d_model: width of a token.
        n_heads: heads of attention.
        d_ff: width of the feed-forward network; 4 · d_model unless given, 0 for none at all.
        norm_first: pre-norm, or post-norm.
        norm: "layer", "rms" or "none".
        activation: of the feed-forward network, see `FeedForward`.
        dropout: share of what each part adds and of the network's middle that is dropped in training.
        attention_dropout: share of the weights of attention; as much unless given.
        bias: whether projections and norms have a bias.
        sandwich: norm what each part adds as well, before it is added: with pre-norm x + norm(part(norm(x))).
        eps: of the norms.
        device: where the parameters are made.
        dtype: dtype of the parameters.
        options: all others of `MultiHeadAttention`: n_kv_heads, d_head, rotary, sinks, ...

    Raises:
        ValueError: a width does not fit or a name is unknown.

    References:
        Vaswani et al. 2017, sections 3.1 and 5.4; Xiong et al. 2020, section 3.1 (pre-norm); Ding et al.
        2021, section 2.4 (sandwich).

    >>> import torch
    >>> EncoderLayer(d_model=16, n_heads=4)(torch.zeros(2, 5, 16)).shape
    torch.Size([2, 5, 16])
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        d_ff: int | None = None,
        norm_first: bool = True,
        norm: Norm = "layer",
        activation: Activation = "relu",
        dropout: float = 0.0,
        attention_dropout: float | None = None,
        bias: bool = True,
        sandwich: bool = False,
        eps: float = 1e-5,
        device: Device = None,
        dtype: torch.dtype | None = None,
        **options,
    ) -> None:
        super().__init__()
        self.norm_first = norm_first
        parameter_options = {"bias": bias, "device": device, "dtype": dtype}
        make = partial(make_norm, norm, d_model, eps=eps, **parameter_options)
        attention_dropout = dropout if attention_dropout is None else attention_dropout
        self.attention_norm, self.attention_out_norm = make(), make() if sandwich else None
        self.attention = MultiHeadAttention(
            d_model, n_heads, dropout=attention_dropout, **parameter_options, **options
        )
        d_ff = 4 * d_model if d_ff is None else d_ff
        self.ffn_norm = self.ffn_out_norm = self.ffn = None
        if d_ff:
            self.ffn_norm, self.ffn_out_norm = make(), make() if sandwich else None
            self.ffn = FeedForward(d_model, d_ff, activation=activation, dropout=dropout, **parameter_options)
        self.dropout = nn.Dropout(dropout)

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
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Send tokens through the layer.

        Args:
            x: tokens (batch, n, d_model).
            mask: boolean, True = may attend: (n, n_k), or (batch or 1, n_heads or 1, n or 1, n_k).
            key_mask: boolean (batch, n_k): which keys exist, where sentences are padded.
            bias: added to the scaled scores; the same shapes as `mask`.
            is_causal: hide later tokens.
            need_weights: return the weights of attention as well.
            head_weights: (n_heads,) factor on the output of each head; 0 removes one.
            cache: the tokens before x; n_k counts them too, and `is_causal` goes without saying.
            position_ids: where the tokens stand (n,) or (batch, n), for `rotary`.

        Returns:
            Tokens (batch, n, d_model), with `need_weights` also the weights (batch, n_heads, n, n_k).

        Raises:
            TypeError: a mask is not boolean.
            ValueError: a shape does not fit, or the cache is full.
        """
        has_width("x", x, self.attention.d_model)
        options = {"mask": mask, "key_mask": key_mask, "bias": bias, "is_causal": is_causal}
        options |= {"head_weights": head_weights, "cache": cache, "position_ids": position_ids}
        with all_or_nothing(cache):
            x, weights = self._attend(x, need_weights, **options)
            x = self._each(x)
            return (x, weights) if need_weights else x

    def new_cache(self, batch: int, capacity: int, *, rolling: bool = False) -> KVCache:
        """Set aside room for the keys and values of a decoding, as `MultiHeadAttention.new_cache`."""
        return self.attention.new_cache(batch, capacity, rolling=rolling)

    def _attend(self, x: Tensor, need_weights: bool, **options) -> tuple[Tensor, Tensor | None]:
        result = self.attention(self._before(x, self.attention_norm), need_weights=need_weights, **options)
        out, weights = result if need_weights else (result, None)
        return self._add(x, out, self.attention_norm, self.attention_out_norm), weights

    def _each(self, x: Tensor) -> Tensor:
        if self.ffn is None:
            return x
        return self._add(x, self.ffn(self._before(x, self.ffn_norm)), self.ffn_norm, self.ffn_out_norm)

    def _before(self, x: Tensor, norm: nn.Module) -> Tensor:
        return norm(x) if self.norm_first else x

    def _add(self, x: Tensor, part: Tensor, norm: nn.Module, out_norm: nn.Module | None) -> Tensor:
        x = x + self.dropout(part if out_norm is None else out_norm(part))
        return x if self.norm_first else norm(x)


class DecoderLayer(EncoderLayer):
    """Attend to the tokens so far, then to a memory (what an encoder read), then work on each token.

    Args:
        d_model: width of a token, and of the memory.
        n_heads: heads of both attentions.
        norm: as in `EncoderLayer`.
        bias: likewise.
        n_kv_heads: likewise, of both attentions.
        d_head: likewise.
        sandwich: likewise.
        eps: likewise.
        device: likewise.
        dtype: likewise.
        options: all others of `EncoderLayer`; those of attention are of the tokens among themselves.

    Raises:
        ValueError: a width does not fit or a name is unknown.

    References:
        Vaswani et al. 2017, section 3.1.

    >>> import torch
    >>> layer = DecoderLayer(d_model=16, n_heads=4)
    >>> layer(torch.zeros(2, 5, 16), torch.zeros(2, 7, 16)).shape
    torch.Size([2, 5, 16])
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        norm: Norm = "layer",
        bias: bool = True,
        n_kv_heads: int | None = None,
        d_head: int | None = None,
        sandwich: bool = False,
        eps: float = 1e-5,
        device: Device = None,
        dtype: torch.dtype | None = None,
        **options,
    ) -> None:
        parameter_options = {"bias": bias, "device": device, "dtype": dtype}
        attention_options = {"n_kv_heads": n_kv_heads, "d_head": d_head, **parameter_options}
        super().__init__(
            d_model, n_heads, norm=norm, sandwich=sandwich, eps=eps, **attention_options, **options
        )
        make = partial(make_norm, norm, d_model, eps=eps, **parameter_options)
        self.cross_norm, self.cross_out_norm = make(), make() if sandwich else None
        self.cross = MultiHeadAttention(d_model, n_heads, dropout=self.attention.dropout, **attention_options)

    @by_name
    def forward(
        self,
        x: Tensor,
        memory: Tensor | tuple[Tensor, Tensor],
        *,
        memory_mask: Tensor | None = None,
        mask: Tensor | None = None,
        key_mask: Tensor | None = None,
        bias: Tensor | None = None,
        is_causal: bool = True,
        need_weights: bool = False,
        cache: KVCache | None = None,
    ) -> Tensor | tuple[Tensor, tuple[Tensor, Tensor]]:
        """Send tokens through the layer.

        Args:
            x: tokens (batch, n, d_model).
            memory: (batch, n_memory, d_model); or its keys and values, as from `remember`.
            memory_mask: boolean (batch, n_memory): which tokens of the memory exist.
            mask: as in `EncoderLayer`; of the tokens among themselves.
            key_mask: likewise.
            bias: likewise.
            is_causal: hide later tokens.
            need_weights: return the weights of both attentions as well.
            cache: the tokens before x.

        Returns:
            Tokens (batch, n, d_model), with `need_weights` also the pair of weights (batch, n_heads, n, n_k)
            and (batch, n_heads, n, n_memory).

        Raises:
            TypeError: a mask is not boolean.
            ValueError: a shape does not fit, or the cache is full.
        """
        has_width("x", x, self.attention.d_model)
        options = {"mask": mask, "key_mask": key_mask, "bias": bias, "is_causal": is_causal}
        with all_or_nothing(cache):
            x, weights = self._attend(x, need_weights, cache=cache, **options)
            normed = self._before(x, self.cross_norm)
            out, cross_weights = self._read(normed, memory, memory_mask, need_weights)
            x = self._each(self._add(x, out, self.cross_norm, self.cross_out_norm))
            return (x, (weights, cross_weights)) if need_weights else x

    def remember(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Compute once what every step of a decoding asks of the memory.

        Args:
            memory: (batch, n_memory, d_model).

        Returns:
            Its keys and values (batch, n_kv_heads, n_memory, d_head).
        """
        cross = self.cross
        return tuple(
            project(memory).unflatten(-1, (-1, cross.d_head)).transpose(1, 2)
            for project in (cross.k_proj, cross.v_proj)
        )

    def _read(
        self,
        x: Tensor,
        memory: Tensor | tuple[Tensor, Tensor],
        memory_mask: Tensor | None,
        need_weights: bool,
    ) -> tuple[Tensor, Tensor | None]:
        """Attend from x to the memory."""
        remembered = isinstance(memory, tuple)
        if not remembered:
            answers("memory", memory, x, self.cross.d_model)
        if memory_mask is not None:
            n_memory = memory[0].shape[2] if remembered else memory.shape[1]
            memory_mask = row_of_keys(memory_mask, x.shape[:1], n_memory, name="memory_mask")
        if not remembered:
            result = self.cross(x, context=memory, key_mask=memory_mask, need_weights=need_weights)
            return result if need_weights else (result, None)
        q = self.cross.q_proj(x).unflatten(-1, (-1, self.cross.d_head)).transpose(1, 2)
        mask = None if memory_mask is None else memory_mask[:, None]  # (batch, 1, 1, n_memory)
        dropout = self.cross.dropout if self.training else 0.0
        options = {"mask": mask, "score_mod": self.cross.score_mod, "dropout": dropout}
        result = grouped_attention(q, *memory, **options, need_weights=need_weights)
        heads, weights = result if need_weights else (result, None)
        return self.cross.out_proj(heads.transpose(1, 2).flatten(-2)), weights
