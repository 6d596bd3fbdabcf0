"""Two real models in our own modules: an encoder that reads, and a decoder that writes."""

from attnlab.pretrained.files import WeightsError, fetch
from attnlab.pretrained.minilm import MiniLM, load_minilm, sentence_vector
from attnlab.pretrained.smollm2 import SmolLM2, chat, load_smollm2

__all__ = [
    "MiniLM",
    "SmolLM2",
    "WeightsError",
    "chat",
    "fetch",
    "load_minilm",
    "load_smollm2",
    "sentence_vector",
]
