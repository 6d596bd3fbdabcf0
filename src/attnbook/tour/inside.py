"""Look into a model while it runs, and change what single heads give: any stack of `transformer`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import torch
from torch import Tensor, nn

Place = tuple[int, int]
"""A head: its layer and its number there, both from 0."""


def layers_of(model: nn.Module) -> Sequence[nn.Module]:
    """Return the layers of a model or a stack.

    Raises:
        TypeError: it has none.

    >>> from attnlab.transformer import Encoder
    >>> len(layers_of(Encoder(d_model=8, n_heads=2, n_layers=3)))
    3
    """
    stack = getattr(model, "stack", model)
    if not hasattr(stack, "layers"):
        raise TypeError(f"model must be a stack of layers or have one as .stack, got {type(model).__name__}")
    return stack.layers


@torch.no_grad()
def hidden_states(model: nn.Module, ids: Tensor, key_mask: Tensor | None = None) -> Tensor:
    """Return what enters the first layer of a model, and what each layer gives.

    Args:
        model: called as model(ids, key_mask=...), or model(ids) where the mask is None.
        ids: numbers of pieces (batch, n).
        key_mask: boolean (batch, n), False where a text is padded; or None.

    Returns:
        (n_layers + 1, batch, n, d_model).

    >>> from attnlab.pretrained.minilm import MiniLM
    >>> model = MiniLM(100, d_model=8, n_heads=2, n_layers=2, d_ff=16)
    >>> states = hidden_states(model, ids := torch.tensor([[1, 2, 3]]))
    >>> states.shape, torch.equal(states[-1], model(ids))
    (torch.Size([3, 1, 3, 8]), True)
    """
    states: list[Tensor] = []
    layers = layers_of(model)
    with contextlib.ExitStack() as stack:
        hooks = [layers[0].register_forward_pre_hook(lambda _, inputs: states.append(inputs[0]))]
        hooks += [layer.register_forward_hook(lambda _, __, out: states.append(out)) for layer in layers]
        for hook in hooks:
            stack.callback(hook.remove)
        model(ids) if key_mask is None else model(ids, key_mask=key_mask)
    return torch.stack(states)


@contextlib.contextmanager
def each_head(model: nn.Module, change: Callable[[int, Tensor], Tensor | None]) -> Iterator[None]:
    """Hand every layer's outputs of heads, before they are mixed, to a function that may change them.

    Args:
        model: the model, or its stack.
        change: called with the layer's number and what its heads give, (batch, n, n_heads, d_head); what it
            returns is used instead, unless that is None.

    Yields:
        Nothing; the model is as it was when the block ends.

    >>> from attnlab.transformer import Encoder
    >>> with each_head(encoder := Encoder(8, 2, 1), lambda layer, x: print(layer, tuple(x.shape))):
    ...     _ = encoder(torch.zeros(1, 3, 8))
    0 (1, 3, 2, 4)
    """

    def hook(at: int, heads: int) -> Callable:
        def before(_: nn.Module, inputs: tuple[Tensor]) -> tuple[Tensor] | None:
            changed = change(at, inputs[0].unflatten(-1, (heads, -1)))
            return None if changed is None else (changed.flatten(-2),)

        return before

    with contextlib.ExitStack() as stack:
        for at, layer in enumerate(layers_of(model)):
            attention = layer.attention
            handle = attention.out_proj.register_forward_pre_hook(hook(at, attention.n_heads))
            stack.callback(handle.remove)
        yield


@contextlib.contextmanager
def replaced(model: nn.Module, heads: Mapping[Place, Tensor | float]) -> Iterator[None]:
    """Put something else in the place of what some heads give, for as long as a `with` block lasts.

    Args:
        model: the model, or its stack.
        heads: for each head what stands in its place at every token: 0 for an ablation by zero, its mean
            (d_head,) for one by the mean.

    Yields:
        Nothing; the model is as it was when the block ends.

    Raises:
        ValueError: there is no such head.

    References:
        Michel et al. 2019, section 2.3 (by zero); Wang et al. 2023 (by the mean).

    >>> from attnlab.transformer import Encoder
    >>> encoder, x = Encoder(8, 2, 1), torch.randn(1, 3, 8)
    >>> with replaced(encoder, {(0, 0): 0.0}):
    ...     without = encoder(x)
    >>> torch.allclose(without, encoder(x, head_weights=torch.tensor([[0.0, 1.0]])), atol=1e-6)
    True
    """
    layers = layers_of(model)
    for layer, head in heads:
        if not (0 <= layer < len(layers) and 0 <= head < layers[layer].attention.n_heads):
            raise ValueError(
                f"heads must be pairs (layer, head) below ({len(layers)}, {layers[0].attention.n_heads}), "
                f"got {(layer, head)}"
            )

    def change(at: int, x: Tensor) -> Tensor | None:
        here = {head: value for (layer, head), value in heads.items() if layer == at}
        if not here:
            return None
        x = x.clone()
        for head, value in here.items():
            x[:, :, head] = value
        return x

    with each_head(model, change):
        yield


@torch.no_grad()
def means(model: nn.Module, batches: Iterable[tuple[Tensor, Tensor | None]]) -> Tensor:
    """Return what each head gives on average over the real tokens of some texts.

    Args:
        model: called as model(ids, key_mask=...), or model(ids) where the mask is None.
        batches: ids (batch, n) and key masks (batch, n), or None.

    Returns:
        (n_layers, n_heads, d_head).

    Raises:
        ValueError: there are no tokens.
    """
    sums: dict[int, Tensor] = {}
    count, real = 0, torch.empty(0)

    def watch(at: int, x: Tensor) -> None:
        sums[at] = sums.get(at, 0) + x[real].sum(0, dtype=torch.float64)

    with each_head(model, watch):
        for ids, key_mask in batches:
            real = torch.ones_like(ids, dtype=torch.bool) if key_mask is None else key_mask
            count += int(real.sum())
            model(ids) if key_mask is None else model(ids, key_mask=key_mask)
    if not count:
        raise ValueError("batches must hold at least one token, got none")
    return torch.stack([sums[at] for at in sorted(sums)]).float() / count
