"""The gated recurrent unit as it was first published, and an encoder that reads in both directions."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from attnlab.arguments import at_least, by_name, has_width, row_of_keys


class GatedUnit(nn.Module):
    """A recurrent unit that decides how much of its state to forget and how much to replace.

        z = σ(W_z x + U_z s)      how much is replaced
        r = σ(W_r x + U_r s)      how much of the state the proposal sees
        s̃ = tanh(W x + U (r ∘ s))
        s' = (1 − z) ∘ s + z ∘ s̃

    `torch.nn.GRU` is a relative and no twin: it multiplies by r *after* U, and its z keeps what is replaced
    here.

    Args:
        d_in: width of the input.
        d_hidden: width of the state.

    Raises:
        ValueError: a width is smaller than 1.

    References:
        Cho et al. 2014, section 2.3; Bahdanau et al. 2015, appendix A.1.1.

    >>> unit = GatedUnit(3, 5)
    >>> unit(torch.zeros(2, 3), torch.zeros(2, 5)).shape
    torch.Size([2, 5])
    """

    def __init__(self, d_in: int, d_hidden: int) -> None:
        super().__init__()
        at_least(1, d_in=d_in, d_hidden=d_hidden)
        self.d_hidden = d_hidden
        self.w = nn.Linear(d_in, 3 * d_hidden)  # of z, r and the proposal, in this order
        self.u_gates = nn.Linear(d_hidden, 2 * d_hidden, bias=False)
        self.u = nn.Linear(d_hidden, d_hidden, bias=False)

    def forward(self, x: Tensor, state: Tensor) -> Tensor:
        """Make one step.

        Args:
            x: (batch, d_in).
            state: (batch, d_hidden).

        Returns:
            The next state (batch, d_hidden).
        """
        gates, proposal = self.w(x).split((2 * self.d_hidden, self.d_hidden), -1)
        return gated_step(gates, proposal, state, self.u_gates.weight.mT, self.u.weight.mT)


def gated_step(gates: Tensor, proposal: Tensor, state: Tensor, u_gates: Tensor, u: Tensor) -> Tensor:
    """Make one step of a `GatedUnit` from what the input gives, which for a whole text is computed at once.

    Args:
        gates: W_z x and W_r x side by side, (..., batch, 2 · d).
        proposal: W x, (..., batch, d).
        state: (..., batch, d).
        u_gates: U_z and U_r side by side, (..., d, 2 · d).
        u: (..., d, d).

    Returns:
        The next state (..., batch, d), in the precision of the state.

    >>> zeros = torch.zeros(1, 2), torch.zeros(1, 1), torch.ones(1, 1), torch.zeros(1, 2), torch.zeros(1, 1)
    >>> gated_step(*zeros).tolist()  # half of the state goes, half of the proposal, which is 0, comes
    [[0.5]]
    """
    z, r = (gates + state @ u_gates).sigmoid().chunk(2, -1)
    proposed = (proposal + (r * state) @ u).tanh()
    return torch.lerp(state, proposed.to(state.dtype), z.to(state.dtype))


class BidirectionalEncoder(nn.Module):
    """Read a text from the left and from the right; each token gets both states side by side.

    The state stays as it is at tokens that do not exist, so padding changes nothing.

    Args:
        d_in: width of the tokens.
        d_hidden: width of the state of each direction.

    References:
        Bahdanau et al. 2015, section 3.2.

    >>> annotations, ends = BidirectionalEncoder(3, 5)(torch.zeros(2, 7, 3))
    >>> annotations.shape, ends.shape
    (torch.Size([2, 7, 10]), torch.Size([2, 10]))
    """

    def __init__(self, d_in: int, d_hidden: int) -> None:
        super().__init__()
        self.d_in = d_in
        self.from_left, self.from_right = GatedUnit(d_in, d_hidden), GatedUnit(d_in, d_hidden)

    @by_name
    def forward(self, x: Tensor, *, key_mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Read a batch of texts.

        Args:
            x: tokens (batch, n, d_in).
            key_mask: boolean (batch, n), True = the token exists; all exist unless given.

        Returns:
            Annotations (batch, n, 2 · d_hidden), and where each direction ended, side by side,
            (batch, 2 · d_hidden). The one from the right ends at the first token.

        Raises:
            TypeError: key_mask is not boolean.
            ValueError: x has another width, or key_mask another shape.
        """
        has_width("x", x, self.d_in)
        units, d = (self.from_left, self.from_right), self.from_left.d_hidden
        # Both directions go side by side, the right one through the text turned round.
        wx = torch.stack((self.from_left.w(x), self.from_right.w(x).flip(1)))  # (2, batch, n, 3 · d)
        if key_mask is not None:
            # A gate of exactly 0: nothing is replaced at a token that does not exist.
            key_mask = row_of_keys(key_mask, x.shape[:1], x.shape[1])[:, 0]  # (batch, n)
            is_padding = ~torch.stack((key_mask, key_mask.flip(1)))[..., None]
            wx = torch.cat((wx[..., :d].masked_fill(is_padding, -math.inf), wx[..., d:]), -1)
        gates, proposals = (part.unbind(2) for part in wx.split((2 * d, d), -1))
        u_gates = torch.stack([unit.u_gates.weight.mT for unit in units])  # (2, d, 2 · d)
        u = torch.stack([unit.u.weight.mT for unit in units])  # (2, d, d)
        state = x.new_zeros(2, len(x), d)
        states = []
        for gate, proposal in zip(gates, proposals, strict=True):
            state = gated_step(gate, proposal, state, u_gates, u)
            states.append(state)
        left, right = torch.stack(states, 2) if states else x.new_zeros(2, len(x), 0, d)
        return torch.cat((left, right.flip(1)), -1), torch.cat(tuple(state), -1)
