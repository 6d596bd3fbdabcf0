"""Walk along a sequence in chunks, carrying a state: the loop that every causal form here shares.

A *rule* takes the state left by the chunks before and one chunk of every sequence, and returns the new state
and that chunk's output. `scan` runs it from left to right. What makes the loop linear, and lean:

- The sequences are cut with `torch.split`. A slice x[:, a:b] in the loop would look the same, but where
  autograd records the loop, its backward fills a tensor of the whole length with zeros for every chunk: time
  turns quadratic.
- Only the inputs and the state before each chunk are kept for the backward pass. It walks from right to left
  and makes everything else again, chunk by chunk, while it is small enough to stay in the cache. That is for
  the memory. At its peak a training step of a loop that autograd records takes 3 times the memory with one
  decay a token, 4 with the gated delta rule, and 6 to 7 with a decay for each row of the state (8192 tokens).
  It takes as long, or 1.2 times, where the backward pass is written by hand, and 0.8 to 0.9 times where it is
  not, with a decay for each row (8 heads, 512 to 4096 tokens of width 64, float32, one thread).
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from attnlab.arguments import at_least, no_second_derivative
from attnlab.precision import without_autocast, working

State = tuple[Tensor, ...]
Pieces = list[Tensor]


class ChunkRule:
    """What happens in one chunk. Subclasses write `forward`; a hand-written `backward` only saves time."""

    def forward(self, state: State, pieces: Pieces) -> tuple[State, Tensor]:
        """Return the state after this chunk and the chunk's output (batch, c, d)."""
        raise NotImplementedError

    def backward(
        self, state: State, pieces: Pieces, out: Tensor, d_out: Tensor | None, d_state: Sequence
    ) -> tuple[list, list]:
        """Return the gradients of the state before this chunk and of its pieces.

        `out` is what `forward` returned, `d_out` and `d_state` are the gradients of what it returned (None
        for none). Unless a rule knows better, autograd differentiates `forward`, made again.
        """
        with torch.enable_grad():
            leaves = [x.detach().requires_grad_() for x in (*state, *pieces)]
            state_after, out_again = self.forward(tuple(leaves[: len(state)]), leaves[len(state) :])
        pairs = [(out_again, d_out), *zip(state_after, d_state, strict=True)]
        pairs = [(x, d) for x, d in pairs if d is not None and x.requires_grad]
        if not pairs:
            return [None] * len(state), [None] * len(pieces)
        outputs, d_outputs = zip(*pairs, strict=True)
        grads = torch.autograd.grad(outputs, leaves, d_outputs, allow_unused=True)
        return list(grads[: len(state)]), list(grads[len(state) :])


def scan(
    rule: ChunkRule, state: State, sequences: Sequence[Tensor], block_size: int, *, plain: bool = False
) -> tuple[Tensor, State]:
    """Run a rule over all chunks of some sequences of one length.

    Args:
        rule: what to do in a chunk.
        state: tensors (batch, ...) before the first chunk; `batch` is the product of all leading dimensions.
        sequences: tensors (..., n, d) with the same leading dimensions. A boolean one counts as 0 and 1. One
            of no tokens is a chunk too.
        block_size: tokens in a chunk; the last one may be shorter.
        plain: let autograd record the loop. That keeps every intermediate result, and is right even if the
            rule uses tensors that want a gradient and are not among `sequences`, or draws random numbers.
            A transformation of `torch.func` gets this form, whose second derivative it may want.

    Returns:
        The outputs (..., n, d_out) side by side, and the last state. Half precision is computed in float32
        and rounded at the end; autocast changes nothing.

    Raises:
        ValueError: the block size is not positive.
    """
    at_least(1, block_size=block_size)
    with without_autocast(sequences[0]):
        if plain or transformed():
            out, state = _walk(rule, state, sequences, block_size)
        else:
            out, *state = _Scan.apply(rule, block_size, len(state), *state, *sequences)
    return out, tuple(state)


def transformed() -> bool:
    """Return whether a transformation of `torch.func` is at work."""
    return torch._C._are_functorch_transforms_active()


def exact(x: Tensor) -> Tensor:
    """Return the tensor in float64, where the device has it: a difference of long sums keeps its digits."""
    return x if x.device.type == "mps" else x.double()


def fade(x: Tensor, like: Tensor) -> Tensor:
    """Return exp(x) for x ≤ 0 in the dtype of `like`, and 0 below exp(-60).

    Beside weights near 1 so small a one is lost in rounding, and numbers at the end of the range of floats,
    which it would soon become, make the products of a CPU several times as slow.
    """
    return F.threshold(x.to(like), -60.0, -torch.inf).exp()


def faded(log_decay: Tensor, like: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return what is left within a chunk, from log α (batch, c, 1), or (batch, c, d) for each row of a state.

    Returns:
        Between two tokens, (batch, c, c), 1 above the diagonal; nothing useful for a decay of each row. From
        the start to a token and from a token to the end, (batch, c, 1 or d). All the way, (batch, 1 or d, 1).
    """
    b = exact(log_decay).cumsum(-2)
    total = exact(log_decay).sum(-2, keepdim=True)  # an empty chunk has one too
    between = fade((b - b.mT).tril(), like) if b.shape[-1] == 1 else like
    return between, fade(b, like), fade(total - b, like), fade(total.mT, like)


def filled(d: Tensor | None, like: Tensor) -> Tensor:
    """Return a gradient, zeros for none."""
    return torch.zeros_like(like) if d is None else d


def dots(a: Tensor, b: Tensor) -> Tensor:
    """Return the products of rows with rows, (..., n, 1)."""
    return (a * b).sum(-1, keepdim=True)


def slope_of_decay(grows: Tensor, shrinks: Tensor, through: Tensor) -> Tensor:
    """Return the gradient of log α (batch, c, 1).

    Where a number fades between two tokens, its share in the loss, times the gradient of that share, counts
    for the decays of all tokens behind the one and up to the other.

    Args:
        grows: those products, summed for the token that reads, (batch, c, 1).
        shrinks: for the token that wrote, or at the end of the chunk if it goes out of it.
        through: for what goes through the chunk, (batch, 1, 1).
    """
    return exact(grows - shrinks).flip(-2).cumsum(-2).flip(-2) + through


def faded_products(rows: Tensor, keys: Tensor, log_decay: Tensor) -> Tensor:
    """Return products whose terms fade apart: Σ_c rows_ic keys_jc exp(b_ic - b_jc) for j ≤ i, 0 elsewhere.

    Here b is the running sum of log α. The factors exp(b_i) and exp(-b_j) could be multiplied into rows and
    keys, if exp(-b_j) did not overflow. With a token r between them, exp(b_i - b_r) and exp(b_r - b_j) are
    both at most 1. So the later half of the tokens meets the earlier half with r in the middle, in one
    product; then the halves are halved, down to single tokens.

    Args:
        rows: what meets the keys, as queries, (..., batch, c, d).
        keys: (batch, c, d).
        log_decay: log α (batch, c, d), at most 0.

    Returns:
        Tables (..., batch, c, c).

    >>> x = torch.ones(1, 3, 1)
    >>> faded_products(x, x, (x / 2).log())[0].tolist()
    [[1.0, 0.0, 0.0], [0.5, 1.0, 0.0], [0.25, 0.5, 1.0]]
    """
    n = keys.shape[-2]
    size = 1 << max(n - 1, 0).bit_length()
    # Tokens of zeros round up to a power of two: they meet with nothing and let nothing fade.
    rows, keys, log_decay = (F.pad(x, (0, 0, 0, size - n)) for x in (rows, keys, log_decay))
    b = exact(log_decay).cumsum(-2)
    tables = (rows * keys).sum(-1)[..., None, None]  # (..., batch, blocks, span, span)
    span = 1
    while span < size:
        rows_later = rows.unflatten(-2, (-1, 2, span))[..., 1, :, :]  # (..., batch, blocks, span, d)
        keys_earlier, b_earlier, b_later = (
            x.unflatten(-2, (-1, 2, span))[:, :, half] for x, half in ((keys, 0), (b, 0), (b, 1))
        )
        middle = b_earlier[:, :, -1:]
        rows_later = rows_later * fade(b_later - middle, rows)
        keys_earlier = keys_earlier * fade(middle - b_earlier, rows)
        top, bottom = tables.unflatten(-3, (-1, 2)).unbind(-3)
        bottom = torch.cat((rows_later @ keys_earlier.mT, bottom), -1)
        tables = torch.cat((F.pad(top, (0, span)), bottom), -2)
        span *= 2
    return tables[..., 0, :n, :n]


def cut(sequences: Sequence[Tensor], block_size: int):
    """Yield, chunk by chunk, the pieces (batch, c, d) of every sequence, in the dtype of the work."""
    for pieces in zip(*(x.split(block_size, dim=-2) for x in sequences), strict=True):
        pieces = [x if x.dim() == 3 else x.reshape(x.shape[:-2].numel(), *x.shape[-2:]) for x in pieces]
        yield [working(x) for x in pieces]


def _walk(rule, state, sequences, block_size, states=None):
    n, outs, full_out = sequences[0].shape[-2], [], None
    dtype = next(x.dtype for x in sequences if x.is_floating_point())
    for pieces in cut(sequences, block_size):
        if states is not None:
            states.append(state)
        state, out = rule.forward(state, pieces)
        if torch.is_grad_enabled():
            outs.append(out)
            continue
        if full_out is None:
            full_out = out.new_empty(out.shape[0], n, out.shape[-1], dtype=dtype)
            out_chunks = iter(full_out.split(block_size, dim=-2))
        next(out_chunks).copy_(out)
    full_out = torch.cat(outs, dim=-2).to(dtype) if outs else full_out
    return full_out.view(*sequences[0].shape[:-1], full_out.shape[-1]), state


class _Scan(torch.autograd.Function):
    @staticmethod
    def forward(ctx, rule, block_size, n_state, *tensors):
        sequences = tensors[n_state:]
        tensors = [x.detach() for x in tensors]  # a module's hooks must not take them for leaves
        state = tensors[:n_state]
        ctx.rule, ctx.block_size, ctx.n_state = rule, block_size, n_state
        ctx.states = [] if any(ctx.needs_input_grad) else None
        ctx.set_materialize_grads(False)
        out, state = _walk(rule, state, tensors[n_state:], block_size, ctx.states)
        # A state that came in and was never changed must not go out as if it were new.
        state = [s.clone() if any(s is t for t in tensors) else s for s in state]
        ctx.save_for_backward(out, *sequences)
        return out, *state

    @staticmethod
    def backward(ctx, d_out, *d_state):
        no_second_derivative("the chunked form", "form='recurrent'")
        out, *sequences = ctx.saved_tensors
        wanted = ctx.needs_input_grad[3 + ctx.n_state :]
        if d_out is None and all(d is None for d in d_state):  # nothing flows back through here
            zeros = (torch.zeros_like(x) if w else None for x, w in zip(sequences, wanted, strict=True))
            return None, None, None, *d_state, *zeros
        grads = [torch.empty_like(x, memory_format=torch.contiguous_format) if w else None
                 for x, w in zip(sequences, wanted, strict=True)]  # fmt: skip
        grad_chunks = [
            None if g is None else g.view(g.shape[:-2].numel(), *g.shape[-2:]).split(ctx.block_size, dim=-2)
            for g in grads
        ]
        extra = [out] if d_out is None else [out, d_out]
        rows = list(zip(*(x.split(ctx.block_size, dim=-2) for x in (*sequences, *extra)), strict=True))
        with without_autocast(sequences[0]):  # the caller's backward may run under one
            for i in reversed(range(len(rows))):
                (pieces,) = cut(rows[i], ctx.block_size)
                inputs, (out_chunk, *d_out_chunk) = pieces[: len(sequences)], pieces[len(sequences) :]
                d_out_chunk = d_out_chunk[0] if d_out_chunk else None
                d_state, d_inputs = ctx.rule.backward(ctx.states[i], inputs, out_chunk, d_out_chunk, d_state)
                for chunks, d in zip(grad_chunks, d_inputs, strict=True):
                    if chunks is not None:
                        chunks[i].zero_() if d is None else chunks[i].copy_(d)
        return None, None, None, *d_state, *grads
