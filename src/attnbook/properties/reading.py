"""Read the weights of two keys off any attention: from its output, or inside a layer with projections."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property

import torch
from torch import Tensor, nn

from attnbook.properties.subject import Subject, UnaskedError, copied

Q = ("q_proj", "to_q", "query", "q", "w_q", "wq", "W_q", "Wq", "q_lin", "linear_q", "queries", "toqueries",
     "W_query")  # fmt: skip
K = ("k_proj", "to_k", "key", "k", "w_k", "wk", "W_k", "Wk", "k_lin", "linear_k", "keys", "tokeys", "W_key")
V = ("v_proj", "to_v", "value", "v", "w_v", "wv", "W_v", "Wv", "v_lin", "linear_v", "values", "tovalues",
     "W_value")  # fmt: skip
QKV = ("qkv", "to_qkv", "c_attn", "qkv_proj", "Wqkv", "in_proj")
OUT = ("out_proj", "o_proj", "to_out", "proj", "c_proj", "w_o", "wo", "W_o", "Wo", "out", "out_lin", "output",
       "linear_out", "dense", "unifyheads")  # fmt: skip
N_HEADS = ("num_heads", "n_heads", "heads", "num_attention_heads", "n_head", "h", "nhead")
D_HEAD = ("head_dim", "d_head", "dim_head", "d_k", "head_size", "attention_head_size")


def reader_of(subject: Subject) -> RawReader | Opened:
    """Return what reads weights.

    Raises:
        UnaskedError: they can't be read; the message says why.
    """
    reader = RawReader(subject) if subject.raw else Opened(subject)
    for weight, want in zip(reader.weights((0.0, 0.0)), [1 / (2 * subject.unit)] * 2, strict=True):
        if not subject.raw and abs(weight - want) > 0.01:
            raise UnaskedError("The weights of two keys can't be read off what its heads bring")
    return reader


def _filled(like: Tensor, which: int, products: tuple[float, float]) -> Tensor:
    """Return queries (0), keys (1) or values (2) like (…, n, d) for given q·k of the first key and others.

    The first value is the first unit vector, the last value the second: so the output begins with weights.
    """
    size = math.sqrt(max(1e-12, *map(abs, products)))
    out = torch.zeros(like.shape, dtype=like.dtype)
    if which == 0:
        out[..., 0] = size
    elif which == 1:
        out[..., 0] = products[1] / size
        out[..., 0, 0] = products[0] / size
    else:
        out[..., 0, 0], out[..., -1, 1] = 1.0, 1.0
    return out


class RawReader:
    """Of a function of q, k and v: the output of unit vectors is the weights."""

    def __init__(self, subject: Subject) -> None:
        self.subject, self.widths = subject, (4, 7, 16)

    def weights(
        self, products: tuple[float, float], d: int = 4, mask: Tensor | None = None
    ) -> tuple[float, float]:
        """Return the weights that the last query gives to the first key and to the last one.

        Args:
            products: q·k of the first key, and of all others.
            d: width of a head.
            mask: hides some.
        """
        subject = self.subject
        for d_v in (d + 3, d):
            inputs = subject.draw(_tokens(subject, mask), width=d, d_v=d_v)
            try:
                out = subject(tuple(_filled(x, i, products) for i, x in enumerate(inputs)), mask)
            except UnaskedError:
                if d_v == d:
                    raise
                continue
            row = out[..., -1, :].detach().reshape(-1, out.shape[-1])[0]
            return float(row[0]), float(row[1])
        raise UnaskedError("It takes no values")


class Opened:
    """Of a layer whose projections were found: probes stand for what they bring; what heads bring is read."""

    def __init__(self, subject: Subject) -> None:
        layer = subject.layer
        if subject.positions:
            raise UnaskedError("Places turn its queries and keys: their product is not the score")
        if not isinstance(layer, nn.Module):
            raise UnaskedError("It is no module, so its queries and keys can't be reached")
        self.subject = replace(subject, layer=copied(layer))
        self.modules = dict(self.subject.layer.named_modules())
        self.torchs = self.subject.layer if isinstance(layer, nn.MultiheadAttention) else None
        if self.torchs is not None:
            self._make_plain()
            return
        self.parts = [self._found(names) for names in (Q, K, V)]
        self.whole = self._found(QKV) if None in self.parts else None
        if None in self.parts and self.whole is None:
            raise UnaskedError("Its projections to q, k and v were not found by their names")
        self.out = self._found(OUT)

    def _found(self, names: tuple[str, ...]) -> nn.Module | None:
        """Find the one projection with one of these names."""
        ends = [(name.rpartition(".")[2], module) for name, module in self.modules.items()]
        found = [m for end, m in ends if end in names and next(m.parameters(), None) is not None]
        maps = [one for one in found[0].modules() if isinstance(one, nn.Linear)] if found else []
        return maps[0] if len(maps) == 1 else found[0] if found else None

    def _make_plain(self) -> None:
        """Make torch's projections do nothing."""
        layer = self.torchs
        if layer.in_proj_weight is None:
            raise UnaskedError("Its keys or values have a width of their own")
        eye = torch.eye(layer.embed_dim, dtype=self.subject.dtype)
        with torch.no_grad():
            layer.in_proj_weight.copy_(torch.cat([eye] * 3))
            layer.out_proj.weight.copy_(eye)
            for bias in (layer.in_proj_bias, layer.out_proj.bias):
                if bias is not None:
                    bias.zero_()

    @cached_property
    def widths(self) -> tuple[int]:
        """The width of its heads, as told or as an attribute says it."""
        if self.subject.d_head or self.torchs is not None:
            return (self.subject.d_head or self.torchs.head_dim,)
        weight = next((self.parts[0] if self.whole is None else self.whole).parameters())
        width = weight.shape[0] // (1 if self.whole is None else 3)
        for names, is_count in ((D_HEAD, False), (N_HEADS, True)):
            for owner in self.modules.values():
                if isinstance(owner, nn.Linear):
                    continue
                for name in names:
                    value = getattr(owner, name, None)
                    if type(value) is int and value > 0:
                        return (width // value if is_count else value,)
        if self.out is None:
            return (width,)  # nothing joins heads: there is one
        raise UnaskedError("How wide its heads are was not found: say d_head=")

    def weights(
        self, products: tuple[float, float], d: int = 0, mask: Tensor | None = None
    ) -> tuple[float, float]:
        """Return the weights of the last query for the first key and the last one, in the first head."""
        subject = self.subject
        inputs = subject.draw(_tokens(subject, mask))
        if self.torchs is not None:
            row = subject(tuple(_filled(x, i, products) for i, x in enumerate(inputs)), mask)[0, -1].detach()
            return float(row[0]), float(row[1])
        seen: list[Tensor] = []
        filled: set[int] = set()
        hooks = []
        if self.whole is not None:
            hooks.append(
                self.whole.register_forward_hook(
                    lambda m, i, out: filled.update(range(3)) or _three(out, products)
                )
            )
        else:
            for which, part in enumerate(self.parts):
                hooks.append(
                    part.register_forward_hook(
                        lambda m, i, out, w=which: filled.add(w) or _one(out, w, products)
                    )
                )
        if self.out is not None:
            hooks.append(self.out.register_forward_pre_hook(lambda m, i: seen.append(i[0].detach())))
        try:
            out = subject(inputs, mask)
        finally:
            for hook in hooks:
                hook.remove()
        if filled != {0, 1, 2} or (self.out is not None and not seen):
            raise UnaskedError("It does not call its projections: it reads their weights")
        heads = seen[-1] if seen else out.detach()
        heads = heads if heads.dim() == 3 else heads.reshape(-1, inputs[0].shape[-2], heads.shape[-1])
        return float(heads[0, -1, 0]), float(heads[0, -1, 1])


def _tokens(subject: Subject, mask: Tensor | None) -> int:
    return 2 * subject.unit if mask is None else mask.shape[-1]


def _one(out: Tensor, which: int, products: tuple[float, float]) -> Tensor:
    if out.dim() != 3:
        raise UnaskedError("Its projections are not laid out as (batch, n, width)")
    return _filled(out, which, products)


def _three(out: Tensor, products: tuple[float, float]) -> Tensor:
    return torch.cat([_one(part, which, products) for which, part in enumerate(out.chunk(3, -1))], -1)


__all__ = ["Opened", "RawReader", "reader_of"]
