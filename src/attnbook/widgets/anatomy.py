"""Two models side by side, as a library configures them: layers, formula, and the cache by length."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import traitlets

from attnbook import census
from attnbook.tables import table_of
from attnbook.widgets.figure import STATIC, Figure

SHOWN = {
    "gpt2": "GPT-2",
    "falcon": "Falcon",
    "llama": "Llama",
    "mistral": "Mistral",
    "gemma2": "Gemma 2",
    "gemma3n_text": "Gemma 3n",
    "gemma4_text": "Gemma 4",
    "llama4_text": "Llama 4",
    "qwen3_next": "Qwen3-Next",
    "gpt_oss": "gpt-oss",
    "olmo3": "Olmo 3",
    "deepseek_v3": "DeepSeek-V3",
    "deepseek_v32": "DeepSeek-V3.2",
    "deepseek_v4": "DeepSeek-V4",
    "glm_moe_dsa": "GLM-5",
    "kimi_linear": "Kimi Linear",
    "mamba2": "Mamba-2",
    "jamba": "Jamba",
    "falcon_h1": "Falcon-H1",
}
"""Models of the census, and what they are called. All else about them is computed. Left out is one whose
default configuration is far from every published checkpoint, or whose cache is not all told."""
LENGTHS = (2**8, 2**20)
_SCRIPT = Path("src/widgets/math/published.js")


@cache
def published() -> dict[str, dict[str, Any]]:
    """Return what the figure knows of each model, as its script has it.

    >>> published()["gpt_oss"]["kept"]
    [64, 8]
    """
    return {name: _one(census.model(name)) | {"label": label} for name, label in SHOWN.items()}


def _one(row: census.Row) -> dict[str, Any]:
    """Take from a row of the census what the figure draws and lights."""
    most = lambda x: max(x) if isinstance(x, list) else x  # noqa: E731
    places, parts = row["positions"], {}
    if "heads" in row:
        parts["kept"] = [most(row["heads"]), most(row["kv_heads"])]
    for part, key in (("latent", "latent"), ("shared", "shared"), ("cap", "cap"), ("windows", "windows")):
        if row.get(key):
            parts[part] = row[key]
    parts |= {"tied": 1} if row.get("keys are values") else {}
    parts |= {"qk": 1} if row.get("QK-norm") else {}
    parts |= {"sink": 1} if row.get("sinks") else {}
    parts |= {"gate": row["gate"]} if row.get("gate") else {}
    parts |= {"delta": 1} if any("Delta" in name for name in row.get("linear", {})) else {}
    parts |= {"streams": row["residual"]} if row.get("residual") else {}
    if "selection" in row:
        sizes = [size for name, size in row["selection"].items() if name != "layers"]
        parts["chosen"] = sizes[0] if sizes else 0
    for part, key in (("turned", "rotary"), ("bare", "none")):
        if places.get(key):
            parts[part] = places[key]
    said = [name for name in ("learned", "sinusoidal", "relative", "ALiBi") if name in places]
    parts |= {"places": said[0]} if said else {}
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
    return {"year": row["year"], "strip": row["strip"], "norms": row["norms"], "cache": costs} | parts


def script() -> str:
    """Return the text of the script that holds the models for the page."""
    lines = [f"  {name}: {json.dumps(model, ensure_ascii=False)},\n" for name, model in published().items()]
    head = "// Models of the census, as attnbook.widgets.anatomy.script() writes them: do not edit.\n\n"
    kind = "/** @type {Record<string, import('./anatomy.js').Model>} */\n"
    return f"{head}{kind}export const PUBLISHED = {{\n{''.join(lines)}}};\n"


class Anatomy(Figure):
    """Compare two models: their layers, the parts of the formula they change, the cache by length.

    Each model is the default configuration of its class in the census.

    Args:
        first: a model of `anatomy.SHOWN`.
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
            if name not in SHOWN:
                raise ValueError(f"{side} must be one of {', '.join(SHOWN)}, got {name!r}")
        low, high = LENGTHS
        if not low <= length <= high:
            raise ValueError(f"length must be from {low} to {high}, got {length}")
        super().__init__(first=first, second=second, length=length)

    def sizes(self) -> list[int]:
        """Return the bytes of both caches at the length."""
        return [census.cache_bytes(census.model(name), self.length) for name in (self.first, self.second)]

    def table(self) -> str:
        """Return both models as an HTML table."""
        rows = []
        for name, size in zip((self.first, self.second), self.sizes(), strict=True):
            row = census.model(name)
            each = [sum(count * grow for count, grow, *_ in published()[name]["cache"])]
            rows.append(
                [SHOWN[name], str(row["year"]), census.strip(row), f"{each[0]:,.0f}", f"{size / 2**20:,.1f}"]
            )
        head = ["model", "year", "layers", "bytes a token", f"MiB for {self.length:,} tokens"]
        return table_of(head, rows)

    def caption(self) -> str:
        """Return one sentence that says what the figure is for."""
        return "Pick two models in their default configurations, and drag the length of the text."
