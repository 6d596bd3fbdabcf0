"""What is asked: a function or a layer, how it is called, and what is known of it."""

from __future__ import annotations

import copy
import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import torch
from torch import Tensor, nn

from attnbook.checks.deadline import Endless
from attnbook.checks.running import said, surroundings

Polarity = Literal["keep", "hide", "add"]
Sees = Literal["all", "past"] | Callable[[int], Tensor]
Inputs = tuple[Tensor, ...]

PAIRS = ("mask", "attn_mask", "attention_mask", "src_mask")
KEYS = ("key_mask", "key_padding_mask", "src_key_padding_mask", "padding_mask", "input_mask")
HEADED = ("num_heads", "n_heads", "heads", "num_attention_heads", "n_head", "h", "nhead",
          "n_kv_heads", "num_kv_heads", "num_key_value_heads")  # fmt: skip
MANY = 12
"""Tokens of the longest text on which every pair is tried."""


class UnaskedError(Exception):
    """A property can't be asked; the message says why."""


@dataclass(frozen=True)
class Subject:
    """A layer, and all that a property needs to ask it.

    Attributes:
        layer: the function, or a copy of the module.
        call: calls it: (layer, *inputs, mask), or (layer, *inputs) where it takes no mask.
        raw: a function of q, k and v themselves; a layer projects what it is given.
        split: its inputs are q, k and v; otherwise the tokens x.
        lead: the sizes in front of (n, d): batch and heads, batch, or none.
        width: d of the inputs.
        d_head: width of a head of a layer, where it was told.
        group: query heads that share a key-value head.
        hides: a mask of "pairs" (n_q, n_k), of "keys" (batch, n_k), or none.
        polarity: what it is told: True keeps, True hides, or a number to add.
        laid: dimensions of its mask of pairs: 2 for (n_q, n_k), 3 with the batch in front, 4 for (batch, 1,
            n_q, n_k).
        unmasked: why nothing is asked of its mask; empty where it is asked.
        sees: whom a token may see without a mask: "all", "past", or a mask for each length; None if unknown.
        positions: it is told the places of tokens; or a function that calls it with all of them further on.
        softmax: it promises that its weights are a softmax of scores.
        dtype: in which it is asked.
        unit: its lengths are multiples of this.
    """

    layer: Any
    call: Callable[..., Any]
    raw: bool
    split: bool
    lead: tuple[int, ...]
    width: int
    d_head: int | None = None
    group: int = 1
    hides: Literal["pairs", "keys"] | None = None
    polarity: Polarity = "keep"
    laid: int = 2
    unmasked: str = ""
    sees: Sees | None = "all"
    positions: bool | Callable[..., Any] = False
    softmax: bool = True
    dtype: torch.dtype = torch.float64
    unit: int = 1
    notes: tuple[str, ...] = field(default=())

    def draw(self, n: int, n_k: int | None = None, *, seed: int = 0, lead: tuple[int, ...] | None = None,
             width: int = 0, d_v: int = 0) -> Inputs:  # fmt: skip
        """Return inputs of n tokens, or n queries and n_k keys: normal numbers, rounded to one digit."""
        generator = torch.Generator().manual_seed(seed)
        lead, n_k, width = self.lead if lead is None else lead, n if n_k is None else n_k, width or self.width
        kept = (*lead[:-1], lead[-1] // self.group) if self.raw and len(lead) == 2 else lead
        shapes = [(*lead, n, width)]
        if self.split:
            shapes += [(*kept, n_k, width), (*kept, n_k, d_v or width)]
        drawn = [torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes]
        return tuple((10 * x).round().div(10).to(self.dtype) for x in drawn)

    def __call__(self, inputs: Inputs, mask: Tensor | None = None) -> Tensor:
        """Call the layer on copies of inputs, always from the same random numbers.

        Raises:
            UnaskedError: the layer raised, or returned no tensor of one row a query.
        """
        return self.plain(tuple(x.clone() for x in inputs), None if mask is None else mask.clone())

    def plain(
        self, inputs: Inputs, mask: Tensor | None = None, *, graded: bool = True, seed: int = 0
    ) -> Tensor:
        """Call the layer on the inputs themselves, with gradients or without."""
        told = () if self.hides is None else (self.told(mask, inputs),)
        try:
            default = torch.float32 if self.dtype.itemsize < 4 else self.dtype
            with surroundings(seed, default), torch.set_grad_enabled(graded):
                out = first_tensor(self.call(self.layer, *inputs, *told))
        except (KeyboardInterrupt, Endless, UnaskedError):
            raise
        except BaseException as error:  # a layer may even exit
            raise UnaskedError(said(error, self.call).rstrip(".").partition(", in the line")[0]) from error
        n = inputs[0].shape[-2]
        if out is None or out.dim() < 2 or out.shape[-2] != n or out.shape[:-2] != inputs[0].shape[:-2]:
            shape = "no tensor" if out is None else f"shape {tuple(out.shape)}"
            raise UnaskedError(f"It returned {shape} for inputs {tuple(inputs[0].shape)}")
        return out

    def told(self, mask: Tensor | None, inputs: Inputs) -> Tensor | None:
        """Say a boolean mask, True = may attend, in the layer's own words."""
        if mask is None:
            return None
        if self.hides == "keys" and mask.shape[0] != inputs[0].shape[0]:  # one row for all texts
            mask = mask[:1].expand(inputs[0].shape[0], -1)
        if self.hides == "pairs" and self.laid > 2:
            texts = mask[:, 0] if mask.dim() == 4 else mask.expand(len(inputs[0]), *mask.shape)
            mask = (texts[:, None] if self.laid == 4 else texts).contiguous()
        if self.polarity == "hide":
            return ~mask
        return torch.where(mask, 0.0, -math.inf).to(inputs[0]) if self.polarity == "add" else mask

    @property
    def asks(self) -> Literal["pairs", "keys"] | None:
        """Which mask is asked of it."""
        return None if self.unmasked else self.hides

    def lengths(self, *wanted: int) -> list[int]:
        """Return those of some lengths at which no mask can be read as one of the batch or of the heads."""
        taken = {1, *self.lead, *(size // self.group for size in self.lead[1:])}
        if isinstance(self.layer, nn.Module):
            named = (getattr(one, name, None) for one in self.layer.modules() for name in HEADED)
            taken |= {size for size in named if type(size) is int}
        return [n * self.unit for n in wanted if n * self.unit not in taken]

    def seen(self, n: int) -> Tensor | None:
        """Return whom tokens may see without a mask, (n, n); None if unknown."""
        whole = torch.ones(n, n, dtype=torch.bool)
        if self.sees is None:
            return None
        return whole if self.sees == "all" else whole.tril() if self.sees == "past" else self.sees(n).bool()

    def changed(self, inputs: Inputs, key: int, times: float = 1.0) -> Inputs:
        """Return inputs with other numbers at one key: its key and its value, or its token."""
        other = self.draw(
            inputs[0].shape[-2], inputs[-1].shape[-2], seed=100 + key, lead=inputs[0].shape[:-2]
        )
        out = [x.clone() for x in inputs]
        for x, y in list(zip(out, other, strict=True))[1 if self.split else 0 :]:
            x[..., key, :] = times * y[..., key, :]
        return tuple(out)

    def only(self, inputs: Inputs, keys: Sequence[int]) -> Inputs:
        """Return inputs that hold some keys alone; where all is one, some tokens."""
        return (
            (inputs[0], *(x[..., keys, :] for x in inputs[1:])) if self.split else (inputs[0][..., keys, :],)
        )

    def a_mask(self, n: int, seed: int = 0) -> Tensor | None:
        """Return a mask in which each query sees some key and not all: of pairs, or of keys.

        None where no mask is asked, or none of this length.
        """
        if self.asks is None or n not in self.lengths(n // self.unit):
            return None
        generator = torch.Generator().manual_seed(seed)
        if self.hides == "keys":
            shown = torch.ones(1, n, dtype=torch.bool)
            shown[0, max(1, n - 1 - seed) :] = n == 1  # padding stands behind
            return shown
        mask = torch.rand(n, n, generator=generator) < 0.5
        mask.fill_diagonal_(True)
        if n > 1:
            rows = torch.arange(n)
            mask[rows, (rows + 1 + torch.randint(n - 1, (n,), generator=generator)) % n] = False
        return mask

    def pairs(self, mask: Tensor | None, n: int) -> Tensor | None:
        """Return whom tokens may see under a mask, (n, n)."""
        seen = self.seen(n)
        return seen if seen is None or mask is None else seen & mask.expand(n, n)

    def judged(self, mask: Tensor | None, n: int) -> Tensor:
        """Say which rows count, (n,): not those of hidden tokens, where it is tokens that are hidden."""
        tokens = mask is not None and self.hides == "keys" and not self.split
        return mask[0] if tokens else torch.ones(n, dtype=torch.bool)

    def moved(self, inputs: Inputs, mask: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Exchange one key at a time: say which rows move, boolean (n_q, n_k), and by how much."""
        before, sizes = self(inputs, mask), []
        for key in range(inputs[-1].shape[-2]):
            sizes.append(per_row(self(self.changed(inputs, key), mask), before))
        size = torch.stack(sizes, -1)
        return size > self.close * scale_of(before), size

    def of_the_past(self, moves: Tensor) -> Tensor | None:
        """Return the pairs (row, key) of the past that do not move, (m, 2), where no others do.

        None where a row moves with a key behind it, or not with its own.
        """
        past = torch.ones_like(moves).tril()
        apart = moves if self.split else moves | torch.eye(len(moves), dtype=torch.bool)
        if (apart & ~past).any() or not apart.diagonal().all():
            return None
        return (past & ~apart).nonzero()

    @property
    def close(self) -> float:
        """How near two roads to one number must come, as a share of the largest."""
        return {torch.float64: 1e-8, torch.float32: 2e-4}.get(self.dtype, 0.05)

    def in_dtype(self, dtype: torch.dtype) -> Subject:
        """Return the same in another dtype; a module is copied."""
        layer = copied(self.layer).to(dtype) if isinstance(self.layer, nn.Module) else self.layer
        return replace(self, layer=layer, dtype=dtype)


def copied(layer: nn.Module) -> nn.Module:
    """Return a copy of a module; what it keeps of a call loses its history, which can't be copied."""
    kept = [
        x for one in layer.modules() for x in vars(one).values() if isinstance(x, Tensor) and not x.is_leaf
    ]
    return copy.deepcopy(layer, {id(x): x.detach() for x in kept})


def first_tensor(out: Any) -> Tensor | None:
    """Return the output of a layer that may return more beside it."""
    if isinstance(out, Tensor) or out is None:
        return out
    if isinstance(out, dict):
        return first_tensor(next(iter(out.values()), None))
    if isinstance(out, (tuple, list)):
        return first_tensor(out[0] if out else None)
    return getattr(out, "last_hidden_state", None)


def per_row(got: Tensor, want: Tensor) -> Tensor:
    """Return the largest difference of each row, over all in front: (n,); infinite where one alone is NaN."""
    apart = (got.double() - want.double()).abs()
    apart = torch.where(got == want, 0.0, apart)  # equal infinities
    apart = torch.where(got.isnan() & want.isnan(), 0.0, apart).nan_to_num(math.inf, math.inf)
    return apart.amax(-1).reshape(-1, got.shape[-2]).amax(0).detach()


def scale_of(x: Tensor) -> float:
    """Return the largest finite number, 1 at least."""
    finite = x.detach().abs().nan_to_num(0.0, 0.0, 0.0)
    return max(1.0, float(finite.max()) if finite.numel() else 0.0)


def parameters_of(forward: Callable) -> dict[str, inspect.Parameter]:
    """Return the parameters of a function by name; none where it does not say."""
    try:
        return dict(inspect.signature(forward).parameters)
    except (TypeError, ValueError):
        return {}
