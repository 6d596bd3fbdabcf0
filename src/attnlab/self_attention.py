"""Attention as a layer: one head with its own projections."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from attnlab.arguments import Device, at_least, by_name, chance, check_mask, has_width, row_of_keys
from attnlab.dot_product import _attend


class SelfAttention(nn.Module):
    """One head: every token asks (query), offers (key) and passes on (value) a linear view of itself.

    Runs wherever `attention` does: autocast, `torch.func`, `torch.compile(fullgraph=True)`.

    Args:
        d_model: width of the input.
        d_k: width of queries and keys; free.
        d_v: width of values and of the output; d_k unless given.
        dropout: chance of each weight to be dropped, in training.
        device: where the parameters are made.
        dtype: dtype of the parameters.

    Raises:
        ValueError: a width is smaller than 1, or dropout no chance.

    References:
        Vaswani et al. 2017, section 3.2.1.

    >>> SelfAttention(3, 5, 4)(torch.zeros(50, 5, 3)).shape
    torch.Size([50, 5, 4])
    """

    def __init__(
        self,
        d_model: int,
        d_k: int,
        d_v: int | None = None,
        *,
        dropout: float = 0.0,
        device: Device = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        d_v = d_k if d_v is None else d_v
        at_least(1, d_model=d_model, d_k=d_k, d_v=d_v)
        chance(dropout=dropout)
        self.dropout = dropout
        # The order matters to a seed: the chapters draw query, key, value one after the other.
        self.q_proj = nn.Linear(d_model, d_k, bias=False, device=device, dtype=dtype)
        self.k_proj = nn.Linear(d_model, d_k, bias=False, device=device, dtype=dtype)
        self.v_proj = nn.Linear(d_model, d_v, bias=False, device=device, dtype=dtype)

    @by_name
    def forward(
        self,
        x: Tensor,
        *,
        mask: Tensor | None = None,
        key_mask: Tensor | None = None,
        is_causal: bool = False,
        need_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Let the tokens of each sequence attend to one another.

        Args:
            x: tokens (..., n, d_model).
            mask: boolean, True = may attend: (n, n), or with every dimension of the scores (..., n, n).
            key_mask: boolean (..., n), or (..., 1, n) as `masks.padding` makes it; True = a real token.
            is_causal: hide later tokens.
            need_weights: return the weights (..., n, n) as well, as they were used.

        Returns:
            Output (..., n, d_v), with `need_weights` also the weights.

        Raises:
            TypeError: a mask is not boolean.
            ValueError: x has another width than d_model, or a mask does not fit.
        """
        has_width("x", x, self.q_proj.in_features)
        *lead, n, _ = x.shape
        shape = (*lead, n, n)
        if mask is not None:
            check_mask(mask, shape)
        if key_mask is not None:
            row = row_of_keys(key_mask, lead, n)
            mask = row if mask is None else mask & row
        return _attend(
            self.q_proj(x),
            self.k_proj(x),
            self.v_proj(x),
            shape,
            mask=mask,
            is_causal=is_causal,
            dropout=self.dropout if self.training else 0.0,
            need_weights=need_weights,
        )
