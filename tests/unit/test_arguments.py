"""Slips are answered by name, wherever they are made: the argument, what it was and what it should be."""

import functools
import inspect
from collections import Counter

import numpy as np
import pytest
import torch

from attnlab import (
    MultiHeadAttention,
    SelfAttention,
    arguments,
    attention,
    cache,
    dot_product,
    grouped_attention,
    linear,
    multihead,
    positions,
    scores,
    self_attention,
    sparse,
)
from attnlab.arguments import at_least
from attnlab.pretrained.minilm import MiniLM
from attnlab.recurrent import BahdanauModel, BidirectionalEncoder
from attnlab.transformer import Decoder, DecoderLayer, Encoder, EncoderLayer, LanguageModel, generate

X = torch.randn(1, 4, 8)
IDS = torch.zeros(1, 4, dtype=torch.long)
MODEL, TRANSLATOR = LanguageModel(9, 8, 2, 1), BahdanauModel(9, 7, d_embed=4, d_hidden=4)
HEADS = torch.randn(1, 2, 4, 8)
CALLS = {
    "attention": (lambda x: attention(X, x, X), "k", X),
    "attention, bias": (lambda x: attention(X, X, X, bias=x), "bias", torch.zeros(4, 4)),
    "attention, mask": (lambda x: attention(X, X, X, mask=x), "mask", torch.ones(4, 4).bool()),
    "grouped_attention": (lambda x: grouped_attention(HEADS, HEADS, x), "v", HEADS),
    "SelfAttention": (SelfAttention(8, 8), "x", X),
    "MultiHeadAttention": (MultiHeadAttention(8, 2), "x", X),
    "context": (lambda x: MultiHeadAttention(8, 2)(X, context=x), "context", X),
    "position_ids": (
        lambda x: MultiHeadAttention(8, 2, rotary=True)(X, position_ids=x),
        "position_ids",
        torch.arange(4),
    ),
    "head_weights": (lambda x: MultiHeadAttention(8, 2)(X, head_weights=x), "head_weights", torch.ones(2)),
    "EncoderLayer": (EncoderLayer(8, 2), "x", X),
    "Encoder": (Encoder(8, 2, 1), "x", X),
    "Decoder": (lambda x: Decoder(8, 2, 1)(x, X), "x", X),
    "LanguageModel": (MODEL, "ids", IDS),
    "generate": (lambda x: generate(MODEL, x, 1), "ids", IDS),
    "rotary": (positions.rotary, "x", X),
    "positions": (lambda x: positions.rotary(X, x), "positions", torch.arange(4)),
    "linear_attention": (lambda x: linear.linear_attention(x, X, X), "q", X),
    "gate": (lambda x: linear.linear_attention(X, X, X, gate=x, is_causal=True), "gate", X[..., :1]),
    "log_decay": (lambda x: linear.gated_linear_attention(X, X, X, x), "log_decay", X[..., :1]),
    "beta": (lambda x: linear.delta_rule(X, X, X, x), "beta", X[..., :1]),
    "source": (lambda x: TRANSLATOR(x, IDS), "source", IDS),
    "target": (lambda x: TRANSLATOR(IDS, x), "target", IDS),
    "prompts' key_mask": (lambda x: generate(MODEL, IDS, 1, key_mask=x), "key_mask", IDS == 0),
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


LAYERS = {
    "SelfAttention": (SelfAttention(8, 8), [X]),
    "MultiHeadAttention": (MultiHeadAttention(8, 2), [X]),
    "EncoderLayer": (EncoderLayer(8, 2), [X]),
    "DecoderLayer": (DecoderLayer(8, 2), [X, X]),
    "Encoder": (Encoder(8, 2, 1), [X]),
    "Decoder": (Decoder(8, 2, 1), [X, X]),
    "LanguageModel": (MODEL, [IDS]),
    "BidirectionalEncoder": (BidirectionalEncoder(8, 4), [X]),
    "BahdanauModel": (TRANSLATOR, [IDS, IDS]),
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


def without_gradient(call):
    return torch.no_grad()(call)


LAYER = MultiHeadAttention(8, 2)
SLIPS = {
    "tokens that are numbers of words": (
        lambda: LAYER(X.long()),
        "x must hold real numbers, got dtype torch.int64",
    ),
    "tokens of another width": (
        lambda: EncoderLayer(6, 2)(X),
        r"x must have shape \(..., n, 6\), got \(1, 4, 8\)",
    ),
    "a mask as bias": (
        lambda: attention(X, X, X, bias=torch.ones(4, 4) > 0),
        r"bias must hold numbers, got a boolean tensor of shape \(4, 4\); a mask goes by its name",
    ),
    "a mask as a layer's bias": (lambda: LAYER(X, bias=torch.ones(4, 4) > 0), "bias must hold numbers, got"),
    "one row of factors": (
        lambda: Encoder(8, 2, 3)(X, head_weights=torch.ones(2)),
        r"head_weights must have shape \(n_layers, n_heads\) = \(3, 2\), got \(2,\)",
    ),
    "a list of caches": (
        without_gradient(lambda: LAYER(X, cache=[LAYER.new_cache(1, 4)])),
        "cache must be a KVCache, that of this layer, got list",
    ),
    "one cache for all layers": (
        without_gradient(lambda: Encoder(8, 2, 3)(X, cache=LAYER.new_cache(1, 4))),
        "cache must be a list with a KVCache for each of 3 layers, got one",
    ),
    "a cache that is wished for": (
        without_gradient(lambda: MODEL(IDS, cache=True)),
        "cache must be what new_cache made, got bool",
    ),
    "heads as a fraction": (
        lambda: MultiHeadAttention(8, 4, n_kv_heads=2.0),
        "n_kv_heads must be a whole number, got 2.0",
    ),
    "a chance as a text": (
        lambda: MultiHeadAttention(8, 2, dropout="0.1"),
        "dropout must lie between 0 and 1, got '0.1'",
    ),
    "a temperature as a text": (
        lambda: scores.softmax(X, temperature="1"),
        "temperature must be positive, got '1'",
    ),
    "a writer's temperature as a text": (
        lambda: generate(MODEL, IDS, 1, temperature="1"),
        "temperature must be at least 0, got '1'",
    ),
    "an end as a fraction": (
        lambda: generate(MODEL, IDS, 1, eos_token_id=2.0),
        "eos_token_id must be a whole number, got 2.0",
    ),
    "a translator's end": (
        lambda: TRANSLATOR.generate(IDS, bos_token_id=0, eos_token_id=7),
        "eos_token_id must be the number of a target token, 0 to 6, got 7",
    ),
    "a translator's start": (
        lambda: TRANSLATOR.generate(IDS, bos_token_id=-1, eos_token_id=1),
        "bos_token_id must be the number of a target token, 0 to 6, got -1",
    ),
    "a text of no length": (
        lambda: TRANSLATOR.generate(IDS, bos_token_id=0, eos_token_id=1, max_new_tokens=0),
        "max_new_tokens must be at least 1, got 0",
    ),
    "no such source": (
        lambda: TRANSLATOR(IDS + 9, IDS),
        "source must lie within the 9 source tokens, 0 to 8, got 9",
    ),
    "no such target": (
        lambda: TRANSLATOR(IDS, IDS + 7),
        "target must lie within the 7 target tokens, 0 to 6, got 7",
    ),
    "no such piece": (
        lambda: MiniLM(9, d_model=8, n_heads=2, n_layers=1, d_ff=8)(IDS + 9),
        "ids must lie within the 9 pieces, 0 to 8, got 9",
    ),
    "a layer of another kind": (
        lambda: MultiHeadAttention.from_torch(torch.nn.Linear(2, 2)),
        "other must be a torch.nn.MultiheadAttention, got Linear",
    ),
    "a map by its name": (
        lambda: linear.linear_attention(X, X, X, features="elu"),
        "features must be a function of vectors, as elu_plus_one is, got 'elu'",
    ),
    "a step's map by its name": (
        lambda: linear.linear_step(X, X, X, features="elu"),
        "features must be a function of vectors, as elu_plus_one is, got 'elu'",
    ),
    "a map for other vectors": (
        lambda: linear.linear_attention(X, X, X, features=linear.PositiveFeatures.draw(7, 4)),
        "the features were drawn for vectors of width d = 7, got",
    ),
    "the state of another form": (
        lambda: linear.linear_attention(X, X, X, is_causal=True, initial_state=torch.zeros(1, 8, 8)),
        "initial_state must be a LinearState, got Tensor",
    ),
}


@pytest.mark.parametrize("name", SLIPS)
def test_a_slip_is_told_what_was_given_and_what_should_be(name):
    call, message = SLIPS[name]
    with pytest.raises((TypeError, ValueError), match=f"^{message}"):
        call()


@pytest.mark.parametrize("size", [2.0, "2", None, torch.ones(1)])
def test_a_size_is_a_whole_number(size):
    with pytest.raises(TypeError, match="n_heads must be a whole number, got"):
        at_least(1, n_heads=size)


@pytest.mark.parametrize("size", [2, np.int64(2), torch.tensor(2)])
def test_whole_numbers_of_any_make_are_sizes(size):
    at_least(1, n_heads=size)
    with pytest.raises(ValueError, match="n_heads must be at least 3, got"):
        at_least(3, n_heads=size)


# --- at the door, and nowhere else -------------------------------------------------------------------------

Q, SEEN, REAL, ROW = torch.randn(2, 4, 3, 2), torch.ones(3, 3) > 0, torch.ones(2, 3) > 0, torch.zeros(3, 3)
TOKENS = torch.randn(2, 3, 8)
ONCE = {
    "attention": (attention, {"q": Q, "k": Q + 1, "v": Q + 2, "mask": SEEN, "bias": ROW}),
    "grouped_attention": (
        grouped_attention,
        {"q": Q, "k": Q[:, :2] + 1, "v": Q[:, :2] + 2, "mask": SEEN, "bias": ROW},
    ),
    "grouped_attention, one query": (
        grouped_attention,
        {"q": Q[:, :, :1], "k": Q[:, :2] + 1, "v": Q[:, :2] + 2, "mask": SEEN[:1], "bias": ROW[:1]},
    ),
    "SelfAttention": (SelfAttention(8, 4), {"x": TOKENS, "mask": SEEN, "key_mask": REAL}),
    "MultiHeadAttention": (
        MultiHeadAttention(8, 4, n_kv_heads=2),
        {"x": TOKENS, "mask": SEEN, "key_mask": REAL, "bias": ROW, "head_weights": torch.ones(4)},
    ),
    "MultiHeadAttention, context": (
        MultiHeadAttention(8, 4),
        {"x": TOKENS, "context": TOKENS + 1, "mask": SEEN, "key_mask": REAL},
    ),
    "MultiHeadAttention, rotary": (
        MultiHeadAttention(8, 4, rotary=True),
        {"x": TOKENS, "position_ids": torch.tensor([[4, 5, 6], [0, 1, 2]]), "mask": SEEN},
    ),
}


@pytest.fixture
def looked_at(monkeypatch):
    """Count which tensors the modules of attention ask `arguments` about.

    Not in `positions` and `cache`: what turns the queries and what keeps them have doors of their own. But
    the mask of keys and the positions are looked at in `cache`, where they join what follows from the order
    of the tokens.
    """
    counts = Counter()

    def counted(check):
        @functools.wraps(check)
        def looks(*given, **named):
            # `answers` looks at the context; the batch that it must have is read from x beside it.
            subjects = given[:2] if check is arguments.answers else (*given, *named.values())
            counts.update(id(one) for one in subjects if isinstance(one, torch.Tensor))
            return check(*given, **named)

        return looks

    for module in (dot_product, multihead, scores, self_attention):
        for name, check in vars(arguments).items():
            if inspect.isfunction(check) and getattr(module, name, None) is check and name != "by_name":
                monkeypatch.setattr(module, name, counted(check))
    for check in (arguments.row_of_keys, arguments.fits_tokens):
        monkeypatch.setattr(cache, check.__name__, counted(check))
    return counts


@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("name", ONCE)
def test_each_argument_is_looked_at_once_and_nothing_that_is_made_of_them(name, need_weights, looked_at):
    call, given = ONCE[name]
    call(**given, need_weights=need_weights)
    named = {id(one): key for key, one in given.items()}
    assert {named.get(one, "what was made"): n for one, n in looked_at.items()} == dict.fromkeys(given, 1)
