"""The fields of a configuration: which hold what can be used, and which may hide a cache from a reader."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from math import inf
from typing import Any

from attnbook.rules import RULES


def inner(config: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return the part of a configuration that holds the model of the text, behind its path.

    >>> inner({"text_config": {"head_dim": 8}})
    ('text_config.', {'head_dim': 8})
    """
    path = ""
    holds = lambda name: isinstance(config.get(name), Mapping) and config[name]  # noqa: E731
    while name := next((name for name in RULES["inside"] if holds(name)), None):
        path, config = f"{path}{name}.", config[name]
    return path, config


def plain(value: Any) -> Any:
    """Return a value with 4.0 as 4, as JSON has it in the page."""
    if isinstance(value, Mapping):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def others(text: Mapping[str, Any]) -> str:
    """Say which field, not read here, may hold a number of heads of keys."""
    read_here = {*RULES["wholes"], *RULES["head"]}
    for name, value in text.items():
        told = value == "multihead_attention" or "qkv" in name or name in read_here
        if re.search(RULES["keys"], name) and not told and not empty(value):
            return f"{name} is {RULES['may']}"
    return ""


def unfit(text: Mapping[str, Any]) -> str:
    """Say which value of a field that is read, beside those looked for as a number, can't be used."""
    for kind, fits in (
        ("wholes", whole),
        ("flags", lambda value: isinstance(value, bool)),
        ("lists", lambda value: isinstance(value, list)),
    ):
        for name in RULES[kind]:
            if not empty(text.get(name)) and not fits(text[name]):
                return f"{name} is {quoted(text[name])}, {RULES['unfit'][kind]}"
    if not empty(text.get("kv_lora_rank")):
        if text.get("use_mla") is False:
            return RULES["unused"]
        if not whole(text.get("qk_rope_head_dim")):
            return RULES["unturned"]
    return ""


def passed(text: Mapping[str, Any], layers: int | None, settled: bool, windows: bool) -> str:
    """Say which fields, not read here, may change what is kept.

    Args:
        layers: how many there are.
        settled: the kind of each layer is told, so fields that say which are of which kind add nothing.
        windows: there is a window.
    """
    read_here = (*RULES["numbers"], "bases", "wholes", "flags", "lists", "odd", "looks")
    known = {name for what in read_here for name in RULES[what]} | {"attn_config", "sliding_window_pattern"}
    names = []
    for name, value in text.items():
        bears = re.search(RULES["bears"], name) or (isinstance(value, list) and len(value) == layers)
        if not bears or name in known or empty(value) or re.search(RULES["harmless"], name):
            continue
        if isinstance(value, str) and value in RULES["plain"]:
            continue
        if settled and re.search(RULES["which"], name):
            continue
        if windows or not re.search(RULES["windowed"], name):
            names.append(name)
    if not names:
        return ""
    more = ", …" if len(names) > 3 else ""
    return f"{', '.join(names[:3])}{more} {'is' if len(names) == 1 else 'are'} {RULES['may']}"


def numbers(text: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the numbers that fields say, and what is wrong with those that say them otherwise."""
    found, unread = {}, {}
    for what in RULES["numbers"]:
        names = RULES[what]
        if what == "heads" and whole(text.get("d_kv")):
            names = [*names, "num_heads"]  # in other models these are the heads of a state
        each = {name: text[name] for name in names if whole(text.get(name))}
        found[what] = next(iter(each.values()), None)
        if what not in ("window", "length") and len(set(each.values())) > 1:
            unread[what] = " and ".join(f"{name} is {number}" for name, number in each.items())
            found[what] = None
            continue
        # Where a window is, 0 and false say that there is none.
        absent = empty if what == "window" else lambda value: value is None
        wrong = next((name for name in names if not absent(text.get(name))), None)
        if found[what] is None and wrong is not None:
            unread[what] = f"{wrong} is {quoted(text[wrong])}, {RULES['unfit']['wholes']}"
    return found, unread


def quoted(value: Any) -> str:
    """Return a value as it is shown where it can't be used."""
    if isinstance(value, str):
        return f"“{value[:40]}”"
    return "a list or an object" if isinstance(value, list | dict) else json.dumps(value)


def whole(value: Any) -> bool:
    """Return whether a value is a whole number above 0."""
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def empty(value: Any) -> bool:
    """Return whether a value says that there is nothing."""
    return (
        value is None or value is False or value in (0, "") or (isinstance(value, list | dict) and not value)
    )


def positive(value: Any) -> bool:
    """Return whether a value is a finite number above 0."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < inf


def encodes(text: Mapping[str, Any]) -> bool:
    """Return whether a model reads a text at once, and keeps nothing of it."""
    if text.get("is_decoder") is True or text.get("is_encoder_decoder") is True:
        return False
    if text.get("causal") is False or text.get("is_causal") is False:
        return True
    return text.get("model_type") in RULES["encoders"]


def by_type(text: Mapping[str, Any]) -> str | None:
    """Return what a type of model does beside what its fields say."""
    return next((why for name, why in RULES["types"].items() if text.get("model_type") == name), None)
