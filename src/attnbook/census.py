"""How attention changed: the stored census of published models, its shares by year, and bytes by length.

`benchmarks/census.py` reads the models; a row says what their layers did. Here is what a page makes of them.
A model of the census is a class in its default configuration; checkpoints are a few published ones.

>>> len(models()) > 150
True
>>> round(cache_bytes(model("llama"), 4096) / 2**30, 2)
2.0
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

import torch
from matplotlib.figure import Figure

from attnbook import plots, results

_MEANINGS = Path(__file__).parent / "static/census-fields.json"
Row = Mapping[str, Any]
_YARN = {"rope_type": "yarn", "factor": 40.0, "original_max_position_embeddings": 4096, "rope_theta": 10000.0}
UNKNOWN: Any = object()
"""In place of a field of the class that a checkpoint's file doesn't share, where its own isn't known."""
PLACES: dict[str, dict[str, Any]] = {
    "llama": {"max_position_embeddings": 4096},
    "llama3": {"max_position_embeddings": 8192, "rope_parameters": {"rope_theta": 500000.0}},
    "mistral": {"max_position_embeddings": 32768},
    "deepseek_v3": {"max_position_embeddings": 163840, "rope_parameters": _YARN},
    "deepseek_v32": {"max_position_embeddings": 163840, "rope_parameters": _YARN},
    "deepseek_v4": {
        "rope_theta": UNKNOWN,
        "rope_parameters": UNKNOWN,
        "compress_rope_theta": UNKNOWN,
    },
    "kimi_linear": {"mla_use_nope": True},
    "llama4_text": {
        "max_position_embeddings": 10485760,
        "rope_parameters": {
            "rope_type": "llama3",
            "factor": 16.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 1.0,
            "original_max_position_embeddings": 8192,
            "rope_theta": 500000.0,
        },
    },
    "qwen3": {"max_position_embeddings": 40960, "rope_parameters": {"rope_theta": 1000000.0}},
    "qwen3_next": {
        "max_position_embeddings": 262144,
        "rope_parameters": {"rope_theta": 10000000.0, "partial_rotary_factor": 0.25},
    },
}
"""Positions and longest texts of checkpoints, as their files have them, where they aren't their class's."""
YEARS = range(2018, 2027)
KINDS = {
    "F": "full",
    "W": "window",
    "B": "own block",
    "S": "selected",
    "P": "pooled",
    "L": "linear",
    "H": "attention and linear",
    "C": "convolution",
    "X": "cross",
    "N": "none",
}
"""What the letters of a strip mean; one letter a layer."""


@cache
def _stored() -> dict[str, Any]:
    return results.load("census")


def models() -> list[Row]:
    """Return the models of the census that could be read, by name."""
    return [row for row in _stored()["models"] if row["read"] != "nothing"]


def model(name: str) -> Row:
    """Return one model.

    Raises:
        ValueError: the census has no model of this name.

    >>> model("llama")["kv_heads"]
    32
    """
    found = next((row for row in models() if row["model"] == name), None)
    if found is None:
        raise ValueError(f"name must be a model of the census, as 'llama', got {name!r}")
    return found


@cache
def checkpoints() -> list[Row]:
    """Return published models with numbers of their own, read as the census reads a class.

    A row says besides which "checkpoint" it is, the year in which it was "published", the "fields" in which
    it differs from the default configuration of its class, and the "sources" of these numbers.

    >>> [row["checkpoint"] for row in checkpoints() if row["model"] == "llama"]
    ['Llama 2 7B', 'Llama 3 8B']
    """
    return results.load("census-checkpoints")["models"]


def checkpoint(name: str) -> Row:
    """Return one published model: by the name of its class, or by its own where a class has several.

    Raises:
        ValueError: there is no checkpoint of this name.

    >>> checkpoint("qwen3")["fields"]
    {'num_hidden_layers': 36, 'num_key_value_heads': 8}
    """
    found = {row["name"]: row for row in checkpoints()}
    if name not in found:
        raise ValueError(f"name must be one of {', '.join(found)}, got {name!r}")
    return found[name]


def default(name: str) -> dict[str, Any]:
    """Return the default configuration of a model, its fields in their order.

    Raises:
        ValueError: the census has no configuration of this name.

    >>> default("llama")["num_hidden_layers"]
    32
    """
    stored = _configurations()
    if name not in stored:
        raise ValueError(f"name must be a model of the census, as 'llama', got {name!r}")
    return copy.deepcopy(stored[name])


def published(name: str) -> dict[str, Any]:
    """Return the configuration of a checkpoint: the fields of its class's default, with its own in them.

    A checkpoint's own are those of attention; elsewhere the default may say another number. Where it has
    another number of layers, its list of them is read off its strip. A model of which no checkpoint is known
    comes in its default configuration.

    Raises:
        ValueError: there is neither a checkpoint nor a model of this name.

    >>> published("llama3")["num_key_value_heads"], default("llama")["num_key_value_heads"]
    (8, 32)
    """
    found = next((row for row in checkpoints() if row["name"] == name), None)
    if found is None:
        return default(name)
    config = default(found["model"])
    if "layer_types" in config and len(config["layer_types"]) != len(found["strip"]):
        words = {"F": "full_attention", "W": "sliding_attention"}
        config["layer_types"] = [words.get(letter, letter) for letter in found["strip"]]
    config |= found["fields"] | PLACES.get(name, {})
    return copy.deepcopy({field: value for field, value in config.items() if value is not UNKNOWN})


@cache
def _configurations() -> dict[str, dict[str, Any]]:
    return results.load("configurations")["configurations"]


def cache_bytes(row: Row, n: int) -> int | None:
    """Return how many bytes a model's cache holds for n tokens, at two bytes a number; None where unknown.

    Layers with a window hold no more than it; a state is held whatever the length; a token whose block is
    not yet full counts for its part of it.

    Args:
        row: a model.
        n: tokens, at least 1.

    Raises:
        ValueError: n is smaller than 1.

    >>> cache_bytes(model("gpt_oss"), 100_000) - cache_bytes(model("gpt_oss"), 50_000) == 18 * 2048 * 50_000
    True
    """
    if n < 1:
        raise ValueError(f"n must be at least 1, got {n}")
    if "cache" not in row:
        return None
    one = lambda cost: cost.get("bytes", 0) * n + cost.get("state", 0) + _within(cost, n)  # noqa: E731
    return round(sum(cost["layers"] * one(cost) for cost in row["cache"]))


def _within(cost: Mapping[str, Any], n: int) -> int:
    return cost.get("within", 0) * min(n, cost.get("window", 0))


def _grouped(row: Row) -> bool | None:
    heads, kept = row.get("heads"), row.get("kv_heads")
    if heads is None or kept is None:
        return None if row["strip"].strip("LCN") else False
    least = lambda x: min(x) if isinstance(x, list) else x  # noqa: E731
    return least(kept) < least(heads)


def _layers(letters: str) -> Callable[[Row], bool | None]:
    return lambda row: (
        None if row["strip"] == "unknown" else any(letter in row["strip"] for letter in letters)
    )


def _windows(row: Row) -> bool | None:
    # A layer that pools or chooses may read the nearest tokens besides; its letter doesn't say so.
    return _layers("WB")(row) or (None if row["strip"] == "unknown" else bool(row.get("windows")))


def _place(*names: str) -> Callable[[Row], bool | None]:
    def has(row: Row) -> bool | None:
        return None if "positions" not in row else any(name in row["positions"] for name in names)

    return has


def _bare(row: Row) -> bool | None:
    places = row.get("positions")
    return None if places is None else "none" in places and "rotary" in places


def _norms(*places: str) -> Callable[[Row], bool | None]:
    return lambda row: None if row.get("norms", "unknown") == "unknown" else row["norms"] in places


def _said(name: str) -> Callable[[Row], bool]:
    return lambda row: bool(row.get(name))


CHANGES: dict[str, Callable[[Row], bool | None]] = {
    "learned positions": _place("learned"),
    "rotary positions": _place("rotary"),
    "norms first": _norms("pre", "sandwich"),
    "grouped heads": _grouped,
    "latent keys and values": _said("latent"),
    "caches shared by layers": _said("shared"),
    "windows": _windows,
    "layers without positions": _bare,
    "selected or pooled keys": _layers("SP"),
    "QK-norm": _said("QK-norm"),
    "sinks": _said("sinks"),
    "soft cap": _said("cap"),
    "gate behind the heads": _said("gate"),
    "norms behind branches": _norms("sandwich", "output"),
    "other residual streams": _said("residual"),
    "linear layers": _layers("LH"),
}
"""Change to the formula of 2017 -> whether a model has it; None where the census can't tell."""


def shares() -> dict[str, dict[int, float]]:
    """Return for each change its share of the models of a year, among those of which it can be told.

    >>> shares()["latent keys and values"][2018]
    0.0
    """
    out: dict[str, dict[int, float]] = {}
    for name, has in CHANGES.items():
        out[name] = {}
        for year in YEARS:
            told = [has(row) for row in models() if row["year"] == year]
            told = [yes for yes in told if yes is not None]
            out[name][year] = sum(told) / len(told) if told else float("nan")
    return out


def count() -> dict[int, int]:
    """Return how many models of the census each year has."""
    return {year: sum(row["year"] == year for row in models()) for year in YEARS}


def plot(names: Sequence[str] | None = None, *, narrow: bool = False) -> Figure:
    """Draw the shares of the changes, a row each, over the years.

    Args:
        names: of the changes; all unless given.
        narrow: for a phone, with the names above the rows.

    Raises:
        ValueError: a name is none of the changes.
    """
    names = list(CHANGES) if names is None else list(names)
    if unknown := [name for name in names if name not in CHANGES]:
        raise ValueError(f"names must be changes, as {next(iter(CHANGES))!r}, got {unknown}")
    found = shares()
    values = torch.tensor([[100 * found[name][year] for year in YEARS] for name in names])
    figure, axes = plots.new((0.6 if narrow else 0.45) * len(names) + 0.6, narrow=narrow)
    columns = [f"{year}\n({number})" for year, number in count().items()]
    plots.heatmap(
        values.nan_to_num(0), names, columns, axes, limit=100, decimals=0, above=narrow, colour=plots.QUIET
    )
    return figure


def strip(row: Row) -> str:
    """Return the layers of a model in words.

    >>> strip(model("gpt_oss"))
    '(1 window, 1 full) × 18'
    """
    runs = [(KINDS[letter], len(list(group))) for letter, group in groupby(row["strip"])]
    for period in range(1, len(runs) // 2 + 1):
        times, rest = divmod(len(runs), period)
        if not rest and runs == runs[:period] * times:
            one = ", ".join(f"{number} {kind}" for kind, number in runs[:period])
            return f"({one}) × {times}"
    return ", ".join(f"{number} {kind}" for kind, number in runs)


def fields() -> list[dict[str, Any]]:
    """Return the fields that are told of, the most used first: in how many models, meaning, and section.

    `topic` is a chapter's, `label` one of its sections; both are empty for what is not in this book. A field
    that stands inside of another, or in older configurations, is counted in no model.

    >>> next(field["topic"] for field in fields() if field["name"] == "num_key_value_heads")
    'multi_head'
    """
    known, number = json.loads(_MEANINGS.read_text(encoding="utf-8")), _stored()["fields"]
    out = [
        {
            "name": name,
            "models": number.get(name, 0),
            **dict(zip(("means", "topic", "label"), told, strict=True)),
        }
        for name, told in known.items()
    ]
    return sorted(out, key=lambda field: (-field["models"], field["name"]))


def show(names: Sequence[str]) -> None:
    """Display models of the census as a table: layers, heads, and what the cache takes at three lengths.

    Args:
        names: of the models.

    Raises:
        ValueError: the census has no model of a name.
    """
    rows = []
    for name in names:
        row = model(name)
        sizes = [cache_bytes(row, n) for n in (4096, 32768, 131072)]
        heads = f"{row.get('heads', '–')} : {row.get('kv_heads', '–')}"
        said = ["–" if size is None else f"{size / 2**30:.2f}" for size in sizes]
        rows.append([name, str(row["year"]), strip(row), heads, *said])
    head = ["model", "year", "layers", "heads : key heads", "4K", "32K", "128K"]
    results.show("census", head, rows, about="layers, heads and caches of models", note="Caches in GiB.")
