"""Attention as a layer: one head with its own projections."""

from __future__ import annotations

from torch import Tensor, nn

from attnlab.arguments import at_least, has_width
from attnlab.dot_product import attention


class SelfAttention(nn.Module):
    """One head: every token asks (query), offers (key) and passes on (value) a linear view of itself.

    Args:
        d_model: width of the input.
        d_k: width of queries and keys; free.
        d_v: width of values and of the output; d_k unless given.

    Raises:
        ValueError: a width is smaller than 1.

    References:
        Vaswani et al. 2017, section 3.2.1.

    >>> import torch
    >>> SelfAttention(3, 5, 4)(torch.zeros(50, 5, 3)).shape
    torch.Size([50, 5, 4])
    """

    def __init__(self, d_model: int, d_k: int, d_v: int | None = None) -> None:
        super().__init__()
        d_v = d_k if d_v is None else d_v
        at_least(1, d_model=d_model, d_k=d_k, d_v=d_v)
        # The order matters to a seed: the chapters draw query, key, value one after the other.
        self.query = nn.Linear(d_model, d_k, bias=False)
        self.key = nn.Linear(d_model, d_k, bias=False)
        self.value = nn.Linear(d_model, d_v, bias=False)

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        *,
        is_causal: bool = False,
        need_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Let the tokens of each sequence attend to one another.

        Args:
            x: tokens (..., n, d_model).
            mask: boolean, broadcastable to (..., n, n), True = may attend.
            is_causal: hide later tokens.
            need_weights: return the weights (..., n, n) as well.

        Returns:
            Output (..., n, d_v), with `need_weights` also the weights.

        Raises:
            ValueError: x has another width than d_model, or the mask does not fit.
        """
        has_width("x", x, self.query.in_features)
        return attention(
            self.query(x),
            self.key(x),
            self.value(x),
            mask=mask,
            is_causal=is_causal,
            need_weights=need_weights,
        )
