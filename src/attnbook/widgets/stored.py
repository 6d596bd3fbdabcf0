"""Models that ship as a script for the page: the same file is read here."""

from __future__ import annotations

import base64
import json
from functools import cache
from typing import Any

from safetensors.torch import load
from torch import Tensor

from attnbook.tagging.shipped import dequantize
from attnbook.widgets.figure import STATIC


@cache
def file(name: str) -> bytes:
    """Return the weights in a script of the page.

    Args:
        name: of the figure that runs them.

    Returns:
        A safetensors file.

    >>> len(file("decoder"))
    42104
    """
    script = (STATIC / f"{name}-model.js").read_text(encoding="ascii")
    return base64.b64decode(script.split('"')[1])


def card(name: str) -> dict[str, Any]:
    """Return what a file says of its models.

    >>> list(card("decoder")["models"])
    ['model', 'draft']
    """
    data = file(name)
    size = int.from_bytes(data[:8], "little")
    return json.loads(json.loads(data[8 : 8 + size])["__metadata__"]["card"])


def states(name: str) -> dict[str, dict[str, Tensor]]:
    """Return for each model of a file what its `load_state_dict` takes.

    >>> states("decoder")["draft"]["embedding.weight"].shape
    torch.Size([19, 8])
    """
    tensors = load(file(name))
    found: dict[str, dict[str, Tensor]] = {one: {} for one in card(name)["models"]}
    for key, value in tensors.items():
        one, weight = key.split("/")
        found[one][weight] = value
    return {one: dequantize(packed) for one, packed in found.items()}
