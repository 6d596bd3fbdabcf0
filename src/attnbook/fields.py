"""The fields of a configuration: which hold what can be used, and which may hide a cache from a reader."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
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
    read_here = {*RULES["wholes"], *RULES["head"], *RULES["flags"]}
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
        if whole(value) and RULES["usual"].get(name) == value:
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
        if each and what == "length":
            found[what] = max(*each.values(), _stretched(text))
        if what not in ("window", "length") and len(set(each.values())) > 1:
            unread[what] = " and ".join(f"{name} is {number}" for name, number in each.items())
            found[what] = None
            continue
        # Where a window is, 0, -1 and false say that there is none.
        absent = (
            (lambda value: empty(value) or value == -1) if what == "window" else lambda value: value is None
        )
        wrong = next((name for name in names if not absent(text.get(name))), None)
        if found[what] is None and wrong is not None:
            unread[what] = f"{wrong} is {quoted(text[wrong])}, {RULES['unfit']['wholes']}"
    return found, unread


def _stretched(text: Mapping[str, Any]) -> int:
    """Return the length for which YaRN stretches, or 0: who adds it may leave the longest text as it was."""
    scaling = text.get("rope_parameters") or text.get("rope_scaling")
    if not isinstance(scaling, Mapping) or scaling.get("rope_type", scaling.get("type")) != "yarn":
        return 0
    length, factor = scaling.get("original_max_position_embeddings"), scaling.get("factor")
    return int(length * factor) if whole(length) and positive(factor) else 0


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


def reads(text: Mapping[str, Any]) -> bool:
    """Return whether a model may be one that reads a text at once, and writes none."""
    if text.get("is_decoder") is True:
        return False
    if text.get("causal") is False or text.get("is_causal") is False:
        return True
    names = text.get("architectures")
    if isinstance(names, list) and names:
        return not any(re.search(RULES["writers"], str(name)) for name in names)
    return bool(re.search(RULES["readers"], str(text.get("model_type")))) or any(
        not empty(text.get(name)) for name in RULES["images"]
    )


def by_type(text: Mapping[str, Any]) -> str | None:
    """Return what a type of model does beside what its fields say."""
    return next((why for name, why in RULES["types"].items() if text.get("model_type") == name), None)


def places(
    text: Mapping[str, Any], unread: dict[str, str], own: Sequence[float] = ()
) -> dict[str, Any] | None:
    """Return how places are told, as far as fields say it, with the class's own bases where none do.

    What can't be used goes into `unread`.
    """
    word = text.get("position_embedding_type")
    if text.get("alibi") is True or word == "alibi":
        return {"kind": "ALiBi"}
    if word == "absolute" and any(positive(text.get(name)) for name in RULES["bases"]):
        word = None
    if empty(word) or word == "absolute":
        for kind, types in RULES["places"].items():
            if text.get("model_type") in types:
                return {"kind": kind}
    if word in RULES["bare"]:
        return {"kind": "none: position_embedding_type says so"}
    if text.get("mla_use_nope") is True:
        return {"kind": "none: mla_use_nope says so"}
    if not empty(word) and word not in RULES["turned"]:
        return {"kind": f"position_embedding_type is {quoted(word)}"}
    if text.get("learned_pos_emb") is True or text.get("use_learned_position_embeddings") is True:
        return {"kind": "learned"}
    name = "rope_parameters" if "rope_parameters" in text else "rope_scaling"
    scaling = text.get(name)
    if not empty(scaling) and not isinstance(scaling, Mapping):
        unread["positions"] = f"{name} is {quoted(scaling)}, no object"
        return None
    if denied := next((name for name in RULES["denied"] if text.get(name) is False), None):
        unread["positions"] = f"{denied} is false"
        return None
    parts = [text]
    if isinstance(scaling, Mapping):
        parts += [scaling, *(part for part in scaling.values() if isinstance(part, Mapping))]
    given = [(name, part[name]) for part in parts for name in RULES["bases"] if part.get(name) is not None]
    bases = [value for _, value in given if positive(value)]
    types = [part.get("rope_type", part.get("type")) for part in parts[1:]]
    types = [name for name in types if isinstance(name, str)]
    factors = [part["factor"] for part in parts[1:] if part.get("factor") is not None]
    if wrong := [factor for factor in factors if not positive(factor)]:
        unread["positions"] = f"factor is {quoted(wrong[0])}, no number above 0"
        return None
    if not (given or own or types or factors or whole(text.get("rotary_dim"))):
        return None
    if given and not bases:
        unread["base"] = f"{given[0][0]} is {quoted(given[0][1])}, no number above 0"
    factor = factors[0] if len(set(factors)) == 1 else None
    said = [name for name in types if name not in RULES["unstretched"]]
    said = [name for name in said if factor != 1 or name not in RULES["by_factor"]]
    bases = sorted(set(bases if given else own))
    listed = text.get("no_rope_layers")
    bare = sum(one in (0, False) for one in listed) if isinstance(listed, list) else 0
    return {
        "kind": "rotary",
        "bases": bases,
        "by": "" if given or not own else "own",
        "stretched": said[0] if said else None,
        "factor": None if factor == 1 else factor,
        "alpha": next((part["alpha"] for part in parts[1:] if positive(part.get("alpha"))), None),
        # Where layers differ in their base, a file's one stretch is not of all of them.
        "some": len(bases) > 1 and len(said) == 1,
        # Of an empty list its class makes one.
        "bare": None if listed == [] or text.get("model_type") in RULES["bare_types"] else bare,
    }
