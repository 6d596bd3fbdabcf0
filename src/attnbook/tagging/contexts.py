"""What a word can hear of the others without attention: to compare, everything else alike.

Each layer takes tokens (batch, n, d) with the mask of the real ones (batch, 1, n), None if all are, and
returns what each token heard, in the same shape.
"""

from __future__ import annotations

from torch import Tensor, nn


class Mean(nn.Module):
    """Attention with nothing to choose: every word takes the same share of every word that it sees.

    Args:
        d_model: width.

    >>> import torch
    >>> heard = Mean(4)(torch.ones(1, 3, 4), key_mask=None)
    >>> heard.shape, torch.equal(heard[:, 0], heard[:, 2])
    (torch.Size([1, 3, 4]), True)
    """

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.value, self.out = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)

    def forward(self, x: Tensor, *, key_mask: Tensor | None, mask: Tensor | None = None) -> Tensor:
        """Return to every token of x (batch, n, d_model) a mean: of all, or of those that a mask opens."""
        shape = (x.shape[0], 1, x.shape[1])
        real = x.new_ones(shape) if key_mask is None else key_mask.to(x.dtype)
        if mask is not None:  # (batch, 1, n, n)
            real = real * mask[:, 0].to(x.dtype)
        mean = real @ self.value(x) / real.sum(-1, keepdim=True).clamp_min(1)  # (batch, 1 or n, d_model)
        return self.out(mean).expand_as(x)


class Window(nn.Module):
    """A convolution: every word hears the one before and the one after, and knows which is which.

    Three places and an output projection make 4·d² weights, as many as attention has.

    Args:
        d_model: width.

    >>> import torch
    >>> Window(4)(torch.ones(1, 3, 4), key_mask=None).shape
    torch.Size([1, 3, 4])
    """

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.places = nn.Conv1d(d_model, d_model, 3, padding=1)
        self.out = nn.Linear(d_model, d_model)

    def forward(self, x: Tensor, *, key_mask: Tensor | None) -> Tensor:
        """Return what each token of x (batch, n, d_model) hears of its neighbours and of itself."""
        if key_mask is not None:
            x = x.masked_fill(~key_mask.mT, 0)  # beyond the last word there is nothing, padded or not
        return self.out(self.places(x.mT).mT)


class Recurrent(nn.Module):
    """A bidirectional LSTM: every word hears two summaries, of what came before and of what comes after.

    Args:
        d_model: width, even; each direction has half of it.

    Raises:
        ValueError: d_model is odd.

    References:
        Hochreiter and Schmidhuber 1997; Graves and Schmidhuber 2005, for the two directions.

    >>> import torch
    >>> Recurrent(4)(torch.ones(1, 3, 4), key_mask=None).shape
    torch.Size([1, 3, 4])
    """

    def __init__(self, d_model: int) -> None:
        super().__init__()
        if d_model % 2:
            raise ValueError(f"d_model must be even, a half for each direction; got {d_model}")
        self.both = nn.LSTM(d_model, d_model // 2, batch_first=True, bidirectional=True)

    def forward(self, x: Tensor, *, key_mask: Tensor | None) -> Tensor:
        """Return the two summaries at each token of x (batch, n, d_model); zeros where it is padded."""
        if key_mask is None:
            return self.both(x)[0]
        # Packed, the way back begins at the last word and not in the padding.
        lengths = key_mask.sum((-2, -1)).clamp_min(1).cpu()
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        return nn.utils.rnn.pad_packed_sequence(self.both(packed)[0], True, total_length=x.shape[1])[0]
