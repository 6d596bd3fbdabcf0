"""Layers on top of one another, and where the tokens stand."""

from __future__ import annotations

from typing import Literal, get_args

import torch
from torch import Tensor, nn

from attnlab.arguments import (
    Device,
    at_least,
    by_name,
    fits_tokens,
    has_shape,
    has_width,
    is_tensor,
    looked_up,
)
from attnlab.cache import KVCache, all_or_nothing
from attnlab.multihead import Rotation
from attnlab.positions import LearnedPositions, RelativeBias, alibi, sinusoidal_at
from attnlab.transformer.layers import DecoderLayer, EncoderLayer, Norm, make_norm

Positions = Literal["none", "learned", "sinusoidal", "relative", "alibi", "rotary"]
ADDED = ("learned", "sinusoidal")
"""Positions that are added to the tokens."""


class Encoder(nn.Module):
    """Let tokens attend to one another in several layers: the stack of an encoder or of a decoder-only model.

    The defaults are those of today's models: pre-norm, with a last norm behind the last layer. Positions can
    be added to the tokens ("learned", "sinusoidal"), to the scores of every layer ("relative", "alibi"), or
    turn queries and keys ("rotary").

    Args:
        d_model: width of a token.
        n_heads: heads of each layer.
        n_layers: layers, at least 0.
        positions: how the layers know the order; "none", as `torch.nn.TransformerEncoder`, unless given. For
            "rotary" with another base or layout, a `positions.RotaryPositions`.
        max_positions: rows of the table of "learned" positions.
        reach: the largest distance to which "relative" gives a number of its own.
        input_norm: norm the tokens, positions added, before the first layer, as BERT does.
        final_norm: norm them behind the last one; with pre-norm, unless given.
        norm_first: as in `EncoderLayer`.
        norm: likewise.
        dropout: likewise, and share of the tokens' numbers that is dropped before the first layer.
        bias: likewise.
        eps: likewise.
        device: likewise.
        dtype: likewise.
        options: all others of `EncoderLayer`.

    Raises:
        ValueError: a width does not fit or a name is unknown.

    References:
        Vaswani et al. 2017, section 3.1; Xiong et al. 2020, section 3 (the last norm).

    >>> import torch
    >>> encoder = Encoder(d_model=16, n_heads=4, n_layers=6, positions="sinusoidal")
    >>> encoder(torch.zeros(2, 5, 16)).shape
    torch.Size([2, 5, 16])
    """

    layer: type[EncoderLayer] = EncoderLayer

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        n_layers: int,
        *,
        positions: Positions | Rotation = "none",
        max_positions: int = 512,
        reach: int = 16,
        input_norm: bool = False,
        final_norm: bool | None = None,
        norm_first: bool = True,
        norm: Norm = "layer",
        dropout: float = 0.0,
        bias: bool = True,
        eps: float = 1e-5,
        device: Device = None,
        dtype: torch.dtype | None = None,
        **options,
    ) -> None:
        super().__init__()
        at_least(0, n_layers=n_layers)
        if not callable(positions) and positions not in get_args(Positions):
            raise ValueError(f"positions must be {', '.join(get_args(Positions))}; got {positions!r}")
        self.d_model, self.n_heads, self.positions = d_model, n_heads, positions
        factory_kwargs = {"device": device, "dtype": dtype}
        norm_options = {"eps": eps, "bias": bias, **factory_kwargs}
        self.learned = (
            LearnedPositions(max_positions, d_model, **factory_kwargs) if positions == "learned" else None
        )
        self.relative = RelativeBias(n_heads, reach, **factory_kwargs) if positions == "relative" else None
        self.input_norm = make_norm(norm, d_model, **norm_options) if input_norm else None
        options |= {"norm_first": norm_first, "norm": norm, "dropout": dropout, **norm_options}
        options["rotary"] = positions if callable(positions) else positions == "rotary"
        self.layers = nn.ModuleList(self.layer(d_model, n_heads, **options) for _ in range(n_layers))
        final_norm = norm_first if final_norm is None else final_norm
        self.final_norm = make_norm(norm, d_model, **norm_options) if final_norm else None
        self.dropout = nn.Dropout(dropout)

    @by_name
    def forward(
        self,
        x: Tensor,
        *,
        mask: Tensor | None = None,
        key_mask: Tensor | None = None,
        is_causal: bool = False,
        need_weights: bool = False,
        head_weights: Tensor | None = None,
        cache: list[KVCache] | None = None,
        position_ids: Tensor | None = None,
    ) -> Tensor | tuple[Tensor, list[Tensor]]:
        """Send tokens through all layers.

        Args:
            x: tokens (batch, n, d_model).
            mask: boolean, True = may attend: (n, n_k), or (batch or 1, n_heads or 1, n or 1, n_k).
            key_mask: boolean (batch, n_k): which keys exist, where sentences are padded.
            is_causal: hide later tokens.
            need_weights: return the weights of every layer as well.
            head_weights: (n_layers, n_heads) factor on the output of each head; 0 removes one.
            cache: the tokens before x, as from `new_cache`; n_k counts them too, and `is_causal` goes without
                saying.
            position_ids: where the tokens stand, (n,) or (batch, n); counted from the cache's first token
                unless given. Prompts that are padded on the left need it where positions are added to the
                tokens; "rotary" takes it too. The others count distances along the keys and refuse it.

        Returns:
            Tokens (batch, n, d_model), with `need_weights` also a list with the weights of each layer.

        Raises:
            TypeError: a mask is not boolean.
            ValueError: a shape does not fit, a cache is full, or position_ids would be ignored.
        """
        shared = {"mask": mask, "key_mask": key_mask, "is_causal": is_causal}
        if position_ids is not None:
            if self.positions != "rotary" and not callable(self.positions) and self.positions not in ADDED:
                raise ValueError(f"position_ids must be None: positions = {self.positions!r} reads none")
            fits_tokens("position_ids", position_ids, x.shape[:-1])
            if self.positions not in ADDED:
                shared["position_ids"] = position_ids
        factors = [None] * len(self.layers)
        if head_weights is not None:
            has_shape("head_weights", head_weights, (len(factors), self.n_heads), "(n_layers, n_heads)")
            factors = head_weights
        options = [{**shared, "head_weights": row} for row in factors]
        return self._through(x, need_weights, cache, options, position_ids)

    def new_cache(self, batch: int, capacity: int, *, rolling: bool = False) -> list[KVCache]:
        """Set aside room for a decoding.

        Args:
            batch: sequences side by side.
            capacity: tokens there is room for.
            rolling: let new tokens take the places of the oldest.

        Returns:
            An empty cache for each layer.

        Raises:
            ValueError: a cache that rolls does not keep the order that "relative" and "alibi" need.
        """
        if rolling and self.positions in ("relative", "alibi"):
            raise ValueError(f"a rolling cache keeps no order, which positions = {self.positions!r} need")
        return [layer.new_cache(batch, capacity, rolling=rolling) for layer in self.layers]

    def _through(
        self,
        x: Tensor,
        need_weights: bool,
        cache: list[KVCache] | None,
        options: list[dict],
        position_ids: Tensor | None = None,
    ) -> Tensor | tuple[Tensor, list]:
        has_width("x", x, self.d_model)
        if isinstance(cache, KVCache):
            raise TypeError(
                f"cache must be a list with a KVCache for each of {len(self.layers)} layers, got one"
            )
        if cache is not None and len(cache) != len(self.layers):
            raise ValueError(f"cache must have one part a layer, {len(self.layers)}, got {len(cache)}")
        before = cache[0].length if cache else 0
        n = x.shape[-2]
        bias = self._bias(n, before + n, x)
        x = self.dropout(self._placed(x, before, position_ids))
        weights = []
        with all_or_nothing(cache):
            for i, layer in enumerate(self.layers):
                layer_cache = cache[i] if cache else None
                x = layer(x, bias=bias, cache=layer_cache, need_weights=need_weights, **options[i])
                if need_weights:
                    x, layer_weights = x
                    weights.append(layer_weights)
            if self.final_norm is not None:
                x = self.final_norm(x)
            return (x, weights) if need_weights else x

    def _placed(self, x: Tensor, before: int, position_ids: Tensor | None) -> Tensor:
        """Add to each token the vector of its place."""
        end = before + x.shape[-2]
        if self.learned is not None:
            table = self.learned.weight
            if position_ids is not None:
                x = x + looked_up("position_ids", position_ids, table, "positions learned")
            elif end > len(table):
                raise ValueError(f"x must end within the {len(table)} positions learned, it ends at {end}")
            else:
                x = x + table[before:end]
        elif self.positions == "sinusoidal":
            if position_ids is None:
                position_ids = torch.arange(before, end, device=x.device)
            x = x + sinusoidal_at(position_ids, self.d_model, dtype=x.dtype)
        return x if self.input_norm is None else self.input_norm(x)

    def _bias(self, n_q: int, n_k: int, x: Tensor) -> Tensor | None:
        """Return what positions add to the scores, (1, n_heads, n_q, n_k)."""
        if self.relative is not None:
            return self.relative(n_q, n_k)[None]
        if self.positions == "alibi":
            return alibi(self.n_heads, n_q, n_k, device=x.device)[None]
        return None


class Decoder(Encoder):
    """The stack that writes: every token attends to those before it, and to what an encoder read.

    A decoder-only model has nothing to read: that is an `Encoder` with `is_causal=True`, or `LanguageModel`.

    Args:
        d_model: as in `Encoder`, and so are all others.

    References:
        Vaswani et al. 2017, section 3.1.

    >>> import torch
    >>> decoder = Decoder(d_model=16, n_heads=4, n_layers=6)
    >>> decoder(torch.zeros(2, 5, 16), torch.zeros(2, 7, 16)).shape
    torch.Size([2, 5, 16])
    """

    layer = DecoderLayer

    @by_name
    def forward(
        self,
        x: Tensor,
        memory: Tensor | list[tuple[Tensor, Tensor]],
        *,
        memory_mask: Tensor | None = None,
        mask: Tensor | None = None,
        key_mask: Tensor | None = None,
        is_causal: bool = True,
        need_weights: bool = False,
        cache: list[KVCache] | None = None,
    ) -> Tensor | tuple[Tensor, list[tuple[Tensor, Tensor]]]:
        """Send tokens through all layers.

        Args:
            x: tokens (batch, n, d_model).
            memory: (batch, n_memory, d_model), or what `remember` made of it.
            memory_mask: boolean (batch, n_memory): which tokens of the memory exist.
            mask: as in `Encoder`; of the tokens among themselves.
            key_mask: likewise.
            is_causal: hide later tokens.
            need_weights: return for every layer the weights of both attentions as well.
            cache: the tokens before x.

        Returns:
            Tokens (batch, n, d_model), with `need_weights` also a list with a pair of weights for each layer.

        Raises:
            TypeError: a mask is not boolean.
            ValueError: a shape does not fit, or a cache is full.
        """
        shared = {"mask": mask, "key_mask": key_mask, "is_causal": is_causal, "memory_mask": memory_mask}
        if not isinstance(memory, list):
            is_tensor("memory", memory)
        memories = memory if isinstance(memory, list) else [memory] * len(self.layers)
        if len(memories) != len(self.layers):
            raise ValueError(f"memory must have one part a layer, {len(self.layers)}, got {len(memories)}")
        return self._through(x, need_weights, cache, [{**shared, "memory": part} for part in memories])

    def remember(self, memory: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Compute once what every step of a decoding asks of the memory.

        Args:
            memory: (batch, n_memory, d_model).

        Returns:
            For each layer, keys and values to be given to `forward` as its memory.
        """
        return [layer.remember(memory) for layer in self.layers]
