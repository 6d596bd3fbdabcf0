"""A layer whose memory is a matrix: the gated delta rule, with all that it asks for made of the tokens."""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnlab.arguments import Device, at_least, by_name, divides, has_shape, has_width, row_of_keys
from attnlab.linear.delta import delta_rule
from attnlab.precision import without_autocast, working


class DeltaNetState(NamedTuple):
    """What a `GatedDeltaNet` remembers of a text, however long it was.

    Attributes:
        memory: S (batch, n_heads, d_head, d_v), as `delta_rule` returns it; float32 at least.
        tail: what the convolution needs of the last tokens, (batch, channels, kernel_size - 1).
    """

    memory: Tensor
    tail: Tensor


class GatedDeltaNet(nn.Module):
    """Gated delta rule as a layer: its queries, keys, values, rates and decays are made of the tokens.

    q, k and v are projected, mixed with those of the few tokens before by a convolution for each channel,
    and go through a SiLU; q and k get length 1. β = max_beta · sigmoid(W_β x), and the decay of a head is
    log α = -A softplus(W_α x + b). What a head reads is normalised and gated: RMSNorm(out) · SiLU(W_g x).

    Args:
        d_model: width of tokens and output.
        n_heads: heads, each with a state, values, β and decay of its own.
        n_qk_heads: heads of queries and keys, a divisor of n_heads that share them in groups; as many as
            n_heads unless given.
        d_head: width of a query and a key; d_model / n_heads, rounded down, unless given.
        d_v: width of a value; d_head unless given.
        kernel_size: tokens that the convolution sees, the token itself the last of them; 1 for itself alone.
        max_beta: the largest β. With 2 a state transition can have negative eigenvalues.
        eps: added to the mean square in the norm.
        device: where the parameters are made.
        dtype: dtype of the parameters.

    Raises:
        ValueError: a size is smaller than 1, or n_qk_heads does not divide n_heads.

    References:
        Yang, Kautz and Hatamizadeh 2025, section 3.4; max_beta: Grazzi et al. 2025, theorem 1. The shared
        query heads and 1e-6 beside the squared length of q and k are known from code (Qwen3-Next).

    >>> layer = GatedDeltaNet(d_model=16, n_heads=2)
    >>> x = torch.randn(1, 9, 16)
    >>> first, state = layer(x[:, :8], return_state=True)
    >>> last = layer(x[:, 8:], state=state)
    >>> torch.allclose(torch.cat((first, last), 1), layer(x), atol=1e-5)
    True
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        n_qk_heads: int | None = None,
        d_head: int | None = None,
        d_v: int | None = None,
        kernel_size: int = 4,
        max_beta: float = 1.0,
        eps: float = 1e-6,
        device: Device = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        at_least(1, d_model=d_model, n_heads=n_heads, kernel_size=kernel_size)
        n_qk_heads = n_heads if n_qk_heads is None else n_qk_heads
        divides(n_heads, n_qk_heads=n_qk_heads)
        d_head = d_model // n_heads if d_head is None else d_head
        d_v = d_head if d_v is None else d_v
        at_least(1, d_head=d_head, d_v=d_v)
        self.d_model, self.n_heads, self.n_qk_heads, self.d_head, self.d_v = (
            d_model, n_heads, n_qk_heads, d_head, d_v)  # fmt: skip
        self.kernel_size, self.max_beta = kernel_size, max_beta
        how = {"device": device, "dtype": dtype}
        channels = 2 * n_qk_heads * d_head + n_heads * d_v
        self.qkv_proj = nn.Linear(d_model, channels, bias=False, **how)
        self.conv = nn.Conv1d(channels, channels, kernel_size, groups=channels, bias=False, **how)
        self.beta_proj = nn.Linear(d_model, n_heads, bias=False, **how)
        self.decay_proj = nn.Linear(d_model, n_heads, **how)
        self.log_a = nn.Parameter(torch.empty(n_heads, **how))
        self.gate_proj = nn.Linear(d_model, n_heads * d_v, bias=False, **how)
        self.norm = nn.RMSNorm(d_v, eps=eps, **how)
        self.out_proj = nn.Linear(n_heads * d_v, d_model, bias=False, **how)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw A from 1 to 16 and let a decay begin with log α between -0.001 A and -0.1 A."""
        with torch.no_grad():
            self.log_a.uniform_(1.0, 16.0).log_()
            step = torch.empty_like(self.decay_proj.bias).uniform_(-6.9, -2.3).exp()
            self.decay_proj.bias.copy_(step.expm1().log())  # the inverse of softplus

    @by_name
    def forward(
        self,
        x: Tensor,
        *,
        key_mask: Tensor | None = None,
        state: DeltaNetState | None = None,
        return_state: bool = False,
    ) -> Tensor | tuple[Tensor, DeltaNetState]:
        """Read a text, or go on with one.

        Args:
            x: tokens (batch, n, d_model).
            key_mask: boolean (batch, n), or (batch, 1, n) as `masks.padding` makes it, True = a real token.
                Others leave the memory as it is, and are zeros to the convolution.
            state: what an earlier call returned for the text before; None for none.
            return_state: return the state after the last token as well.

        Returns:
            Output (batch, n, d_model), and the state if asked for.

        Raises:
            TypeError: key_mask is not boolean.
            ValueError: x, key_mask or the state has another shape.
        """
        has_width("x", x, self.d_model)
        mixed = self.qkv_proj(x).mT  # (batch, channels, n)
        if key_mask is not None:
            mixed = mixed.masked_fill(~row_of_keys(key_mask, x.shape[:1], x.shape[1]), 0.0)
        shape = (len(x), mixed.shape[1], self.kernel_size - 1)
        memory, tail = (None, mixed.new_zeros(shape)) if state is None else state
        has_shape("state.tail", tail, shape, "(batch, channels, kernel_size - 1)")
        mixed = torch.cat((tail.to(mixed), mixed), -1)
        tail = mixed[..., x.shape[1] :]
        beta, log_decay = (_heads(t, self.n_heads) for t in self.rates(x))
        with without_autocast(x):  # in single precision at least, from the convolution to what is read
            q, k, v = self._convolved(working(mixed), x.shape[1])
            out, memory = delta_rule(
                q * self.d_head**-0.5, k, v, beta, log_decay=log_decay,
                key_mask=key_mask, initial_state=memory, return_state=True,
            )  # fmt: skip
        out = self.gated(out.transpose(1, 2).to(self.norm.weight), x)
        out = self.out_proj(out.flatten(-2).to(x))
        return (out, DeltaNetState(memory, tail)) if return_state else out

    def _convolved(self, mixed: Tensor, n: int) -> list[Tensor]:
        """Return q, k and v (batch, n_heads, n, d) of n tokens, behind those that the convolution sees."""
        weight = working(self.conv.weight)
        mixed = F.conv1d(mixed, weight, groups=len(weight)) if n else mixed[..., :0]
        width = self.n_qk_heads * self.d_head
        q, k, v = F.silu(mixed).mT.split([width, width, mixed.shape[1] - 2 * width], -1)
        q, k = (_unit(_heads(t, self.n_qk_heads)) for t in (q, k))
        q, k = (t.repeat_interleave(self.n_heads // self.n_qk_heads, 1) for t in (q, k))
        return [q, k, _heads(v, self.n_heads)]

    def rates(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return β and log α of tokens, (batch, n, n_heads) each.

        A layer with a decay for each row of its states replaces `decay_proj` by one that returns
        n_heads · d_head numbers a token.
        """
        steps = F.softplus(working(self.decay_proj(x))).unflatten(-1, (self.n_heads, -1))
        log_decay = -working(self.log_a).exp()[:, None] * steps  # (batch, n, n_heads, 1 or d_head)
        return self.max_beta * self.beta_proj(x).sigmoid(), log_decay.flatten(-2)

    def gated(self, out: Tensor, x: Tensor) -> Tensor:
        """Return what the heads read, (batch, n, n_heads, d_v), normalised and gated by the tokens."""
        return self.norm(out) * F.silu(self.gate_proj(x)).unflatten(-1, out.shape[-2:])


def _heads(x: Tensor, n_heads: int) -> Tensor:
    """Return (batch, n, n_heads · d) as (batch, n_heads, n, d)."""
    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)


def _unit(x: Tensor) -> Tensor:
    """Return vectors of length 1, or shorter where they are very short themselves."""
    return x * (x.square().sum(-1, keepdim=True) + 1e-6).rsqrt()
