"""The two small language models that a decoding steps through, as they ship: the model and its draft."""

from __future__ import annotations

import base64
import json
from functools import cache

from safetensors.torch import load

from attnlab.tagging.shipped import dequantize
from attnlab.transformer import LanguageModel
from attnlab.widgets.figure import STATIC

FILE = STATIC / "decoder-model.js"


def file() -> bytes:
    """Return the weights of both models, as `benchmarks/decoding.py` wrote them: safetensors."""
    return base64.b64decode(FILE.read_text(encoding="ascii").split('"')[1])


@cache
def words() -> list[str]:
    """Return the vocabulary of both: the words of the toy grammar behind <start> and <end>.

    >>> words()[:3]
    ['<start>', '<end>', 'I']
    """
    return _card()["words"]


@cache
def models() -> dict[str, LanguageModel]:
    """Load the two language models of the toy grammar: "model", and the cheaper "draft".

    Returns:
        Models in `eval` mode; the same objects every time.

    >>> [sum(p.numel() for p in one.parameters()) for one in models().values()]
    [26688, 1192]
    """
    tensors, found = load(file()), {}
    for name, shape in _card()["models"].items():
        sizes = {key: shape[key] for key in ("d_model", "n_heads", "n_layers")}
        one = LanguageModel(len(words()), **sizes, tied=False)
        own = {key.split("/")[1]: value for key, value in tensors.items() if key.startswith(f"{name}/")}
        one.load_state_dict(dequantize(own))
        found[name] = one.eval()
    return found


def _card() -> dict:
    data = file()
    size = int.from_bytes(data[:8], "little")
    return json.loads(json.loads(data[8 : 8 + size])["__metadata__"]["card"])
