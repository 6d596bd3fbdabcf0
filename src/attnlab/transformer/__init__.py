"""The Transformer: layers, stacks, a language model, and writing with it."""

from attnlab.transformer.copies import from_torch
from attnlab.transformer.language import LanguageModel, generate
from attnlab.transformer.layers import DecoderLayer, EncoderLayer, FeedForward, make_norm
from attnlab.transformer.stacks import Decoder, Encoder

__all__ = [
    "Decoder",
    "DecoderLayer",
    "Encoder",
    "EncoderLayer",
    "FeedForward",
    "LanguageModel",
    "from_torch",
    "generate",
    "make_norm",
]
