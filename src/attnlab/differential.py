"""Attention by the difference of two maps of weights: what both give alike is taken away."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnlab.arguments import Device


class Difference(nn.Module):
    """Take from what one half of the heads found λ times what the other half found.

    Head i and head i + n_heads / 2 make a pair. They read the same values, those of both heads side by side,
    each by its own weights, so that the pair brings (weights_1 - λ weights_2) v. Then each pair's numbers are
    brought to a common size (RMS norm without factors) and multiplied by 1 - λ_0. With λ = exp(a·b) -
    exp(c·d) + λ_0 of four learned vectors (d_head,).

    Args:
        d_head: width of a head.
        start: λ_0, where λ starts but for the random draw of its vectors.
        eps: of the norm.
        device: where the parameters are made.
        dtype: dtype of the parameters.

    References:
        Ye et al. 2024, section 2.1 (it sets λ_0 = 0.8 - 0.6 exp(-0.3 l) in the layer above l others). Which
        heads make a pair: known from code, transformers, DiffLlamaAttention.

    >>> Difference(4)(torch.ones(2, 6, 5, 8)).shape
    torch.Size([2, 3, 5, 8])
    """

    def __init__(
        self,
        d_head: int,
        *,
        start: float = 0.8,
        eps: float = 1e-5,
        device: Device = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.start, self.eps = start, eps
        for name in ("lambda_q1", "lambda_k1", "lambda_q2", "lambda_k2"):
            drawn = 0.1 * torch.randn(d_head, device=device, dtype=dtype)
            setattr(self, name, nn.Parameter(drawn))

    @property
    def factor(self) -> Tensor:
        """λ, a number ()."""
        plus, minus = self.lambda_q1 @ self.lambda_k1, self.lambda_q2 @ self.lambda_k2
        return plus.exp() - minus.exp() + self.start

    @staticmethod
    def widened(v: Tensor) -> Tensor:
        """Give both heads of each pair the values of both: (batch, n_kv_heads, n, d) to (…, 2 d)."""
        return torch.cat(v.chunk(2, 1), -1).repeat(1, 2, 1, 1)

    def forward(self, heads: Tensor) -> Tensor:
        """Turn what heads found, (batch, n_heads, n, 2 d_head), into what pairs bring: half as many heads."""
        first, second = heads.chunk(2, 1)
        out = first - self.factor * second
        return (1 - self.start) * F.rms_norm(out, out.shape[-1:], eps=self.eps)
