"""Two published models side by side: layers, formula, and the cache by length."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import traitlets

from attnbook import census
from attnbook.tables import table_of
from attnbook.widgets.figure import STATIC, Figure

LENGTHS = (2**8, 2**20)
_SCRIPT = Path("src/widgets/math/published.js")
_ROOTS = {"gemma3_text": 168, "gemma3n_text": 0, "gemma4_text": 0}
"""What stands under the root in place of the width of a head; 0 where scores are not divided.

Read from code: 168 from litgpt's configuration of Gemma 3 27B; that the other two do not divide from the
classes of transformers.
"""
_STREAMS = {"gemma3n_text": "AltUp"}
"""Residual streams that the census does not know by name, read from the classes of transformers."""


@cache
def published() -> dict[str, dict[str, Any]]:
    """Return what the figure knows of each model, as its script has it.

    >>> published()["gpt_oss"]["kept"]
    [64, 8]
    """
    return {row["name"]: _one(row) | {"label": row["checkpoint"]} for row in census.checkpoints()}


def _one(row: census.Row) -> dict[str, Any]:
    """Take from a row of the census what the figure draws and lights."""
    most = lambda x: max(x) if isinstance(x, list) else x  # noqa: E731
    places, parts, given = row["positions"], {}, census.published(row["name"])
    if "heads" in row:
        parts["kept"] = [most(row["heads"]), row["kv_heads"]]
    for part, key in (("shared", "shared"), ("cap", "cap"), ("windows", "windows")):
        if row.get(key):
            parts[part] = row[key]
    if row.get("latent"):
        parts["latent"] = [given["kv_lora_rank"], given["qk_rope_head_dim"]]
    parts |= {"tied": 1} if row.get("keys are values") else {}
    parts |= {"qk": 1} if row.get("QK-norm") else {}
    parts |= {"sink": 1} if row.get("sinks") else {}
    parts |= {"gate": row["gate"]} if row.get("gate") else {}
    parts |= {"delta": 1} if any("Delta" in name for name in row.get("linear", {})) else {}
    streams = _STREAMS.get(row["name"], row.get("residual"))
    parts |= {"streams": streams} if streams else {}
    if "selection" in row:
        sizes = [size for name, size in row["selection"].items() if name != "layers"]
        parts["chosen"] = sizes[0] if sizes else 0
        # One key for all heads of an indexer, beside what the layer's heads read.
        if "index_head_dim" in given:
            parts["index"] = [given["index_head_dim"], row["selection"]["layers"]]
    if row["name"] in _ROOTS:
        parts["root"] = _ROOTS[row["name"]]
    for part, key in (("turned", "rotary"), ("bare", "none")):
        if places.get(key):
            parts[part] = places[key]
    said = [name for name in ("learned", "sinusoidal", "relative", "ALiBi") if name in places]
    parts |= {"places": said[0]} if said else {}
    parts |= {"table": given["n_positions"]} if "learned" in places else {}
    costs = [
        [
            cost["layers"],
            cost.get("bytes", 0),
            cost.get("within", 0),
            cost.get("window", 0),
            cost.get("state", 0),
        ]
        for cost in row["cache"]
    ]
    return {"year": row["published"], "strip": row["strip"], "norms": row["norms"], "cache": costs} | parts


def script() -> str:
    """Return the text of the script that holds the models for the page."""
    lines = [f"  {name}: {json.dumps(model, ensure_ascii=False)},\n" for name, model in published().items()]
    head = "// Checkpoints of the census, as attnbook.widgets.anatomy.script() writes them: do not edit.\n\n"
    kind = "/** @type {Record<string, import('./anatomy.js').Model>} */\n"
    return f"{head}{kind}export const PUBLISHED = {{\n{''.join(lines)}}};\n"


class Anatomy(Figure):
    """Compare two models: their layers, the parts of the formula they change, the cache by length.

    Each model has the numbers of a published checkpoint, where its class in the library may have others.

    Args:
        first: a model of `census.checkpoints`, by its name.
        second: another one.
        length: tokens in the cache, 256 to 1,048,576.

    Raises:
        ValueError: a model is not among those shown, or the length is out of its range.

    >>> first, second = Anatomy("llama", "deepseek_v3", length=4096).sizes()
    >>> first // second
    7
    """

    _esm = STATIC / "anatomy.js"
    name = "anatomy"
    state = ("first", "second", "length")
    first = traitlets.Unicode().tag(sync=True)
    second = traitlets.Unicode().tag(sync=True)
    length = traitlets.Int().tag(sync=True)

    def __init__(self, first: str = "llama", second: str = "gemma4_text", *, length: int = 4096) -> None:
        for side, name in (("first", first), ("second", second)):
            if name not in published():
                raise ValueError(f"{side} must be one of {', '.join(published())}, got {name!r}")
        low, high = LENGTHS
        if not low <= length <= high:
            raise ValueError(f"length must be from {low} to {high}, got {length}")
        super().__init__(first=first, second=second, length=length)

    def sizes(self) -> list[int]:
        """Return the bytes of both caches at the length."""
        return [
            census.cache_bytes(census.checkpoint(name), self.length) for name in (self.first, self.second)
        ]

    def table(self) -> str:
        """Return both models as an HTML table."""
        rows = []
        for name, size in zip((self.first, self.second), self.sizes(), strict=True):
            row = census.checkpoint(name)
            each = sum(count * grow for count, grow, *_ in published()[name]["cache"])
            cells = [census.strip(row), f"{each:,.0f}", f"{size / 2**20:,.1f}"]
            rows.append([row["checkpoint"], str(row["published"]), *cells])
        head = ["model", "year", "layers", "bytes a token", f"MiB for {self.length:,} tokens"]
        return table_of(head, rows)

    def caption(self) -> str:
        """Return one sentence that says what the figure shows."""
        return "What two published models keep of a text."
