"""The Transformer: layers, stacks, a language model, and writing with it."""

from attnlab.transformer.copies import from_torch
from attnlab.transformer.generation import beam_search, generate
from attnlab.transformer.language import LanguageModel
from attnlab.transformer.layers import DecoderLayer, EncoderLayer, FeedForward, make_norm
from attnlab.transformer.samplers import distribution, draw, min_p, temper, top_k, top_p
from attnlab.transformer.speculative import accept_or_resample
from attnlab.transformer.stacks import Decoder, Encoder

__all__ = [
    "Decoder",
    "DecoderLayer",
    "Encoder",
    "EncoderLayer",
    "FeedForward",
    "LanguageModel",
    "accept_or_resample",
    "beam_search",
    "distribution",
    "draw",
    "from_torch",
    "generate",
    "make_norm",
    "min_p",
    "temper",
    "top_k",
    "top_p",
]
