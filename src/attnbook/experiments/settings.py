"""What the runs of a sweep were given: read off the candidates themselves, and told in words."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import partial
from typing import Any

WORDS = {
    "d_model": "tokens {} wide",
    "d": "keys {} wide",
    "d_k": "queries and keys {} wide",
    "d_head": "heads {} wide",
    "d_hidden": "states {} wide",
    "d_embed": "letters {} wide",
    "d_align": "alignment {} wide",
    "n_heads": "heads: {}",
    "n_kv_heads": "key-value heads: {}",
    "n_layers": "layers: {}",
    "norm_first": "{}",
    "tokens": "{} tokens",
    "words": "{} words",
    "scale": "scores times {}",
    "std": "learned positions of spread {}",
    "bias_rate": "rate of the relative bias times {}",
    "warm": "rate rising for {} steps",
    "epochs": "{} epochs",
    "sentences": "{} sentences to learn from",
    "streams": "{} streams to learn from",
    "batch_tokens": "{} words in a batch",
}
"""A setting -> how a note tells it, in this order. What is not here is told by its own name."""

QUIET = {
    "heads": 1,
    "times": 1,
    "asked": 1,
    "warm": 1,
    "part": "",
    "clip": None,
    "added": "",
    "empty": 0,
    "numbers": 1,
    "features": None,
}
"""Settings at which nothing is done: where all rows have them, a note says nothing of it."""

SAID = {
    ("scale", None): "1/√width",
    ("features", None): "as keys",
    ("part", ""): "none",
    ("gate", ""): "none",
    ("added", ""): "nothing",
    ("norm_first", True): "pre-norm",
    ("norm_first", False): "post-norm",
}
TOGETHER = ("optimizer", "steps", "batch", "examples", "every", "counts")
"""Told in other places of the note: `tell` ends with the first four."""
BY_NAME = ("name", "context", "start", "faster", "exact", "data")
"""Told by the name of the row or of the file, or no matter of training."""


def settings_of(candidate: object) -> dict[str, Any]:
    """Return what a candidate of a sweep is set to, as JSON can hold it.

    A dataclass is read field by field, one within it likewise, and a `functools.partial` by what it binds.
    What is no field (what batches hold, what the value counts) stands in a mapping `told` of a class or a
    function. Data and functions are no settings.

    >>> from attnbook.experiments import Retrieval
    >>> found = settings_of(Retrieval(steps=20))
    >>> found["d_model"], found["steps"], found["examples"]
    (32, 20, 'questions')
    """
    found: dict[str, Any] = dict(getattr(candidate, "told", {}))
    if is_dataclass(candidate):
        of = {field.name: getattr(candidate, field.name) for field in fields(candidate)}
    else:
        of = dict(candidate.keywords) if isinstance(candidate, partial) else {}
    for name, value in of.items():
        if is_dataclass(value):
            found |= settings_of(value)
        elif isinstance(value, Mapping):
            found |= {key: one for key, one in value.items() if isinstance(key, str) and _plain(one)}
        elif _plain(value):
            found[name] = list(value) if isinstance(value, Sequence) and not isinstance(value, str) else value
    return found


def shared(rows: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the settings that all rows have in common.

    >>> shared({"a": {"steps": 9, "d": 4}, "b": {"steps": 9, "d": 8}})
    {'steps': 9}
    """
    first, *others = rows.values() or ({},)
    return {key: x for key, x in first.items() if all(key in row and row[key] == x for row in others)}


def tell(rows: Sequence[tuple[str, Mapping[str, Any]]]) -> list[str]:
    """Tell the settings of rows, given with their names: what they share once, and who has something else.

    >>> same = {"steps": 200, "batch": 16, "d_model": 32}
    >>> tell([("a", same), ("b", same), ("c", same | {"steps": 2400})])
    ['tokens 32 wide', '200 steps (c: 2,400) of 16']
    """
    there = {key: [row[key] for _, row in rows if key in row] for _, row in rows for key in row}
    names = sorted(there, key=lambda name: [*WORDS, name].index(name))
    said = []
    for name in names:
        first, *others = there[name]
        alike = all(one == first for one in others)
        hidden = first == QUIET.get(name, ...) if alike else isinstance(first, list)  # lists: the names tell
        if name not in (*TOGETHER, *BY_NAME) and not hidden:
            said.append(_values(name, rows, WORDS.get(name, name.replace("_", " ") + ": {}")))
    if "optimizer" in names:
        said.append(_values("optimizer", rows))
    if "steps" in names:
        of = " ".join(_values(name, rows) for name in ("batch", "examples") if name in names)
        said.append(_values("steps", rows, "{} steps") + f" of {of}" * bool(of))
    return said


def counted(rows: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
    """Return what the numbers of rows count, where their candidates say it; else nothing."""
    return _values("counts", rows) if any("counts" in row for _, row in rows) else ""


def _values(name: str, rows: Sequence[tuple[str, Mapping[str, Any]]], words: str = "{}") -> str:
    """Tell one setting: the value of most rows, with those who differ named; or all values."""
    of: dict[str, list[str]] = {}
    for row, settings in rows:
        if name in settings:
            of.setdefault(_say(name, settings[name]), []).append(row)
    who = {value: ", ".join(dict.fromkeys(names)) for value, names in of.items()}
    most, *others = sorted(of, key=lambda value: -len(of[value]))
    if 2 * sum(map(len, of.values())) < len(rows):  # few have it at all
        return "; ".join(f"{words.format(value)} ({names})" for value, names in who.items())
    if sum(len(of[value]) for value in others) < len(of[most]):
        return words.format(most) + f" ({'; '.join(f'{who[x]}: {x}' for x in others)})" * bool(others)
    *first, last = of
    return words.format(f"{', '.join(first)} or {last}")


def _say(name: str, value: object) -> str:
    if isinstance(value, list):
        even = len(value) > 3 and len({b - a for a, b in itertools.pairwise(value)}) == 1
        return f"{value[0]}, {value[1]} … {value[-1]}" if even else ", ".join(map(str, value))
    if (name, value) in SAID:
        return SAID[name, value]
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _plain(value: object) -> bool:
    if isinstance(value, list | tuple):
        return all(isinstance(one, int | float | str) for one in value)
    return value is None or isinstance(value, bool | int | float | str)
