"""Heads apart: a layer whose heads lie on many devices (tensor parallelism)."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from attnlab.arguments import no_second_derivative
from attnlab.distributed.splits import compacted, heads_of
from attnlab.distributed.traffic import Communicator, described
from attnlab.multihead import MultiHeadAttention


class HeadsApart(nn.Module):
    """A layer of attention of which each process has some heads, made from one that is whole.

    Every process gets the same tokens and gives the same output. It has those rows of the query, key and
    value projections that make its heads, and those columns of the output projection that read them: the
    output is a sum over heads, and so over processes. One all-reduce adds it up, and in the backward pass
    another one adds up the gradient of the tokens.

    A key-value head that query heads of several processes read is in all of them. What they hold in common,
    the norms of `qk_norm` too, has as its gradient the sum of theirs, so that the copies stay alike.

    Args:
        layer: the whole layer, the same in all processes. It is copied from and stays as it is.
        comm: the processes.

    Raises:
        TypeError: it is another layer.
        ValueError: it has fewer query heads than there are processes, or parts that don't lie in single heads
            (`differential`, or a rotation or score_mod with parameters).

    References:
        Shoeybi et al. 2019, section 3.

    >>> layer = MultiHeadAttention(d_model=16, n_heads=4)
    >>> x = torch.randn(2, 5, 16)
    >>> part = HeadsApart(layer, Communicator())
    >>> torch.allclose(part(x, is_causal=True), layer(x, is_causal=True), atol=1e-6)
    True
    """

    def __init__(self, layer: MultiHeadAttention, comm: Communicator) -> None:
        super().__init__()
        if not isinstance(layer, MultiHeadAttention):
            raise TypeError(f"layer must be a MultiHeadAttention, got {type(layer).__name__}")
        shared = [layer.rotary, layer.score_mod]
        learned = any(isinstance(one, nn.Module) and any(True for _ in one.parameters()) for one in shared)
        if layer.difference is not None or learned:
            raise ValueError(
                "layer must be made of heads that know nothing of each other: "
                "differential, and a rotary or a score_mod with parameters, are not"
            )
        every = [heads_of(layer.n_heads, layer.n_kv_heads, comm.size, rank) for rank in range(comm.size)]
        self.comm, (self.heads, reads) = comm, every[comm.rank]
        kept, _ = compacted(reads)
        self.kv_heads = tuple(kept)
        self.part = _part_of(layer, self.heads, kept)
        self.bias = copy.deepcopy(layer.out_proj.bias)  # added once, behind the sum
        held = [head for _, reads in every for head in compacted(reads)[0]]
        if len(set(held)) < len(held):
            for projection in (self.part.k_proj, self.part.v_proj):
                for parameter in projection.parameters():
                    self._keep_alike(parameter, kept, layer.n_kv_heads)
        for norm in (self.part.q_norm, self.part.k_norm):
            for parameter in () if norm is None else norm.parameters():
                self._keep_alike(parameter)

    def forward(self, x: Tensor, **options) -> Tensor:
        """Attend, as the whole layer does.

        Args:
            x: tokens (batch, n_q, d_model), the same in all processes.
            options: those of `MultiHeadAttention.forward`, for the whole layer, but for `need_weights` and
                `head_weights`. A cache is that of this process's part (`new_cache`).

        Returns:
            Output (batch, n_q, d_model), the same in all processes.

        Raises:
            ValueError: a shape does not fit, or another process is about to do something else.
        """
        if options.get("need_weights") or options.get("head_weights") is not None:
            raise ValueError("need_weights and head_weights are of a whole layer: here are some of its heads")
        given = {name: value for name, value in options.items() if isinstance(value, Tensor)}
        self.comm.agree(f"HeadsApart of {described(x=x, **given)}, {x.shape[1]} tokens, {sorted(options)}", x)
        for name in ("mask", "bias"):
            if name in given and given[name].dim() == 4 and given[name].shape[1] > 1:
                options[name] = given[name][:, list(self.heads)]
        if options.get("context") is not None:
            options["context"] = _Copied.apply(options["context"], self.comm)
        out = _Summed.apply(self.part(_Copied.apply(x, self.comm), **options), self.comm)
        return out if self.bias is None else out + self.bias

    def new_cache(self, batch: int, capacity: int, **options):
        """Set aside room for the keys and values of the heads here: `MultiHeadAttention.new_cache`."""
        return self.part.new_cache(batch, capacity, **options)

    def _keep_alike(self, parameter: Tensor, heads: Sequence[int] = (0,), n_heads: int = 1) -> None:
        """Let a parameter's gradient be the sum over all copies of each of these heads, wherever they are."""

        def summed(grad: Tensor) -> Tensor:
            rows = grad.unflatten(0, (len(heads), -1))  # (heads here, d_head, ...)
            every = grad.new_zeros(n_heads, *rows.shape[1:])
            every.index_add_(0, torch.tensor(heads, device=grad.device), rows)
            return self.comm.all_reduce(every, "gradients of shared heads")[list(heads)].flatten(0, 1)

        if parameter.requires_grad and self.comm.size > 1:
            parameter.register_hook(summed)


def _part_of(layer: MultiHeadAttention, heads: range, kv_heads: Sequence[int]) -> MultiHeadAttention:
    """Copy some heads of a layer."""
    part, d_head = copy.deepcopy(layer), layer.d_head
    part.n_heads, part.n_kv_heads = len(heads), len(kv_heads)

    def rows(projection: nn.Linear, some: Sequence[int], each: int) -> None:
        for name, whole in list(projection.named_parameters()):
            chosen = whole.detach().unflatten(0, (-1, each))[list(some)].flatten(0, 1)
            setattr(projection, name, nn.Parameter(chosen, requires_grad=whole.requires_grad))
        projection.out_features = len(some) * each

    rows(part.q_proj, heads, d_head)
    rows(part.k_proj, kv_heads, d_head)
    rows(part.v_proj, kv_heads, d_head)
    if part.gate_proj is not None:
        rows(part.gate_proj, heads, part.gate_proj.out_features // layer.n_heads)
    if part.sinks is not None:
        chosen = layer.sinks.detach()[list(heads)]
        part.sinks = nn.Parameter(chosen, requires_grad=layer.sinks.requires_grad)
    if part.score_mod is not None:
        part.score_mod = _Counting(part.score_mod, heads.start)
    whole = layer.out_proj.weight  # (d_model, n_heads * d_head)
    columns = whole.detach().unflatten(1, (-1, d_head))[:, list(heads)].flatten(1)
    part.out_proj = nn.Linear(columns.shape[1], columns.shape[0], bias=False, device="meta")
    part.out_proj.weight = nn.Parameter(columns, requires_grad=whole.requires_grad)
    return part


class _Counting:
    """A function of scores that counts heads from the first one of the whole layer."""

    def __init__(self, score_mod, first: int) -> None:
        self.score_mod, self.first = score_mod, first

    def __call__(self, score, b, h, q_idx, kv_idx):
        return self.score_mod(score, b, h + self.first, q_idx, kv_idx)


class _Copied(torch.autograd.Function):
    """The tokens that all have; what each process would change about them is added up."""

    @staticmethod
    def forward(ctx, x, comm):
        ctx.comm = comm
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        no_second_derivative("HeadsApart", "the whole layer")
        return ctx.comm.all_reduce(grad, "gradients of tokens"), None


class _Summed(torch.autograd.Function):
    """The sum of what all processes found."""

    @staticmethod
    def forward(ctx, x, comm):
        return comm.all_reduce(x, "outputs")

    @staticmethod
    def backward(ctx, grad):
        no_second_derivative("HeadsApart", "the whole layer")
        return grad, None
