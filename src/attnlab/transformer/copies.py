"""Layers and stacks that compute what those of `torch.nn` compute, made from their weights."""

from __future__ import annotations

from typing import overload

from torch import nn

from attnlab.multihead import MultiHeadAttention
from attnlab.transformer.layers import DecoderLayer, EncoderLayer
from attnlab.transformer.stacks import Decoder, Encoder


@overload
def from_torch(other: nn.TransformerEncoderLayer) -> EncoderLayer: ...
@overload
def from_torch(other: nn.TransformerDecoderLayer) -> DecoderLayer: ...
@overload
def from_torch(other: nn.TransformerEncoder) -> Encoder: ...
@overload
def from_torch(other: nn.TransformerDecoder) -> Decoder: ...
@overload
def from_torch(other: nn.Transformer) -> tuple[Encoder, Decoder]: ...
def from_torch(other):
    """Build what computes the same as a layer or a stack of `torch.nn`, from a copy of its weights.

    Args:
        other: a `TransformerEncoderLayer`, `TransformerDecoderLayer`, `TransformerEncoder`,
            `TransformerDecoder` or `Transformer`. Its `batch_first` does not matter: ours always is.

    Returns:
        Ours; of a `Transformer` its encoder and its decoder. On its device, in its dtype and its mode.

    Raises:
        TypeError: it is none of these.
        ValueError: its last norm is no LayerNorm.

    >>> import torch
    >>> theirs = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, dropout=0.0)
    >>> x = torch.randn(1, 3, 8)
    >>> torch.allclose(from_torch(theirs)(x), theirs(x), atol=1e-6)
    True
    """
    if isinstance(other, nn.Transformer):
        return from_torch(other.encoder), from_torch(other.decoder)
    if isinstance(other, (nn.TransformerEncoder, nn.TransformerDecoder)):
        return _stack(other)
    if isinstance(other, (nn.TransformerEncoderLayer, nn.TransformerDecoderLayer)):
        return _layer(other)
    raise TypeError(f"other must be a layer or a stack of torch.nn's Transformer, got {type(other).__name__}")


def _options(layer: nn.TransformerEncoderLayer | nn.TransformerDecoderLayer) -> dict:
    """Read off what a layer is made of."""
    return {
        "d_model": layer.linear1.in_features,
        "n_heads": layer.self_attn.num_heads,
        "d_ff": layer.linear1.out_features,
        "norm_first": layer.norm_first,
        "activation": layer.activation,
        "dropout": layer.dropout1.p,
        "bias": layer.linear1.bias is not None,
        "eps": layer.norm1.eps,
    }


def _layer(other: nn.TransformerEncoderLayer | nn.TransformerDecoderLayer) -> EncoderLayer | DecoderLayer:
    is_decoder = isinstance(other, nn.TransformerDecoderLayer)
    ours = (DecoderLayer if is_decoder else EncoderLayer)(**_options(other))
    norms = [ours.attention_norm, *([ours.cross_norm] if is_decoder else []), ours.ffn_norm]
    pairs = [(norm, getattr(other, f"norm{i}")) for i, norm in enumerate(norms, 1)]
    pairs += [(ours.ffn.in_proj, other.linear1), (ours.ffn.out_proj, other.linear2)]
    pairs.append((ours.attention, MultiHeadAttention.from_torch(other.self_attn)))
    if is_decoder:
        pairs.append((ours.cross, MultiHeadAttention.from_torch(other.multihead_attn)))
    ours.to(other.linear1.weight)
    for mine, theirs in pairs:
        mine.load_state_dict(theirs.state_dict())
    return ours.train(other.training)


def _stack(other: nn.TransformerEncoder | nn.TransformerDecoder) -> Encoder | Decoder:
    if other.norm is not None and not isinstance(other.norm, nn.LayerNorm):
        raise ValueError(f"other's last norm must be a LayerNorm, got {type(other.norm).__name__}")
    kind = Decoder if isinstance(other, nn.TransformerDecoder) else Encoder
    options = _options(other.layers[0]) | {"final_norm": other.norm is not None}
    ours = kind(n_layers=len(other.layers), **options)
    ours.dropout.p = 0.0  # torch drops nothing before the first layer
    ours.to(other.layers[0].linear1.weight)
    for mine, theirs in zip(ours.layers, other.layers, strict=True):
        mine.load_state_dict(_layer(theirs).state_dict())
    if other.norm is not None:
        ours.final_norm.load_state_dict(other.norm.state_dict())
        ours.final_norm.eps = other.norm.eps
    return ours.train(other.training)
