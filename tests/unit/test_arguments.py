"""What is no tensor is answered by name, wherever it is given."""

import inspect

import numpy as np
import pytest
import torch

from attnlab import (
    MultiHeadAttention,
    SelfAttention,
    attention,
    grouped_attention,
    linear,
    positions,
    scores,
    sparse,
)
from attnlab.arguments import at_least
from attnlab.recurrent import BahdanauModel, BidirectionalEncoder
from attnlab.transformer import Decoder, DecoderLayer, Encoder, EncoderLayer, LanguageModel, generate

X = torch.randn(1, 4, 8)
HEADS = torch.randn(1, 2, 4, 8)
CALLS = {
    "attention": (lambda x: attention(X, x, X), "k", X),
    "attention, bias": (lambda x: attention(X, X, X, bias=x), "bias", torch.zeros(4, 4)),
    "attention, mask": (lambda x: attention(X, X, X, mask=x), "mask", torch.ones(4, 4).bool()),
    "grouped_attention": (lambda x: grouped_attention(HEADS, HEADS, x), "v", HEADS),
    "SelfAttention": (SelfAttention(8, 8), "x", X),
    "MultiHeadAttention": (MultiHeadAttention(8, 2), "x", X),
    "context": (lambda x: MultiHeadAttention(8, 2)(X, context=x), "context", X),
    "places": (lambda x: MultiHeadAttention(8, 2, rotary=True)(X, places=x), "places", torch.arange(4)),
    "head_weights": (lambda x: MultiHeadAttention(8, 2)(X, head_weights=x), "head_weights", torch.ones(2)),
    "EncoderLayer": (EncoderLayer(8, 2), "x", X),
    "Encoder": (Encoder(8, 2, 1), "x", X),
    "Decoder": (lambda x: Decoder(8, 2, 1)(x, X), "x", X),
    "LanguageModel": (LanguageModel(9, 8, 2, 1), "ids", torch.zeros(1, 3, dtype=torch.long)),
    "generate": (lambda x: generate(LanguageModel(9, 8, 2, 1), x, 1), "ids", torch.zeros(1, 3).long()),
    "rotary": (positions.rotary, "x", X),
    "positions": (lambda x: positions.rotary(X, x), "positions", torch.arange(4)),
    "linear_attention": (lambda x: linear.linear_attention(x, X, X), "q", X),
    "sparse.window": (lambda x: sparse.window(X, X, x, 1), "v", X),
    "dot": (lambda x: scores.dot(x, X), "q", X),
    "softmax": (scores.softmax, "scores", X),
    "sparsemax": (scores.sparsemax, "scores", X),
    "relu": (scores.relu, "scores", X),
}


@pytest.mark.parametrize("make", [lambda x: x.numpy(), lambda x: x.tolist()], ids=["array", "list"])
@pytest.mark.parametrize("name", CALLS)
def test_arrays_and_lists_are_refused_by_name(name, make):
    call, argument, right = CALLS[name]
    call(right)
    wrong = make(right)
    what = "numpy.ndarray" if isinstance(wrong, np.ndarray) else "list"
    with pytest.raises(TypeError, match=f"^{argument} must be a (boolean )?tensor.*, got {what}$"):
        call(wrong)


IDS = torch.zeros(1, 4, dtype=torch.long)
LAYERS = {
    "SelfAttention": (SelfAttention(8, 8), [X]),
    "MultiHeadAttention": (MultiHeadAttention(8, 2), [X]),
    "EncoderLayer": (EncoderLayer(8, 2), [X]),
    "DecoderLayer": (DecoderLayer(8, 2), [X, X]),
    "Encoder": (Encoder(8, 2, 1), [X]),
    "Decoder": (Decoder(8, 2, 1), [X, X]),
    "LanguageModel": (LanguageModel(9, 8, 2, 1), [IDS]),
    "BidirectionalEncoder": (BidirectionalEncoder(8, 4), [X]),
    "BahdanauModel": (BahdanauModel(9, 9), [IDS, IDS]),
}


@pytest.mark.parametrize("name", LAYERS)
def test_what_a_layer_can_do_without_goes_by_name(name):
    layer, tokens = LAYERS[name]
    layer(*tokens)
    parameters = list(inspect.signature(layer.forward).parameters.values())
    by_place = [one for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD]
    assert len(by_place) == len(tokens)
    assert all(one.default is one.empty for one in by_place)
    names = ", ".join(f"{one.name}=" for one in parameters[len(tokens) :])
    places = " and ".join(one.name for one in by_place)
    for wrong, got in (
        (torch.ones(4, 4) > 0, "a boolean tensor of shape (4, 4)"),
        (X, "a tensor of torch.float32 of shape (1, 4, 8)"),
        (None, "NoneType"),
    ):
        with pytest.raises(TypeError) as error:
            layer(*tokens, wrong)
        assert str(error.value) == (
            f"{name} takes {places} by place and the rest by name ({names}); "
            f"after {by_place[-1].name} it got {got}"
        )


@pytest.mark.parametrize("size", [2.0, "2", None, torch.ones(1)])
def test_a_size_is_a_whole_number(size):
    with pytest.raises(TypeError, match="n_heads must be a whole number, got"):
        at_least(1, n_heads=size)


@pytest.mark.parametrize("size", [2, np.int64(2), torch.tensor(2)])
def test_whole_numbers_of_any_make_are_sizes(size):
    at_least(1, n_heads=size)
    with pytest.raises(ValueError, match="n_heads must be at least 3, got"):
        at_least(3, n_heads=size)
