"""What a model's configuration says of its attention: layers, heads, windows, positions, and the cache.

Only what fields say is read. A class may do more than its fields tell: where it is known to, or where a field
is met whose effect on the cache is not known here, the answer is None, and `why` says so. The page reads the
same `RULES`.

>>> reading = read({"n_layer": 2, "n_head": 4, "num_key_value_heads": 1, "head_dim": 8})
>>> reading["cache"]
[{'layers': 2, 'terms': [2, 1, 8]}]
>>> token_bytes(reading)
64
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from attnbook.rules import RULES

BYTES = 2
"""Of a number in the cache, as nearly all are kept."""
NARROW = {"window", "block"}
"""Kinds of layers that keep no more than so many tokens."""


def inner(config: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return the part of a configuration that holds the model of the text, behind its path.

    >>> inner({"text_config": {"head_dim": 8}})
    ('text_config.', {'head_dim': 8})
    """
    path = ""
    while name := next((name for name in RULES["inside"] if isinstance(config.get(name), Mapping)), None):
        path, config = f"{path}{name}.", config[name]
    return path, config


def read(config: Mapping[str, Any]) -> dict[str, Any]:
    """Read what the fields of a configuration say; what they don't say is None.

    Args:
        config: the fields, as a `config.json` has them.

    Returns:
        `inside` (where the model of the text stands), `layers`, `kinds` (how many layers of each kind),
        `heads`, `kept` (heads of keys and values), `head` (their width), `value` (that of values), `latent`,
        `cache` (groups of layers, with numbers whose product a token takes, where a list is a sum, and the
        window that ends it),
        `why` (what hides the cache, or why it is empty), `window`, `positions`, `length`, and `unread` (for
        what a field says in a way that can't be used, which field and how).
    """
    inside, text = inner(config)
    found, unread = _found(text)
    heads, window, width = found["heads"], found.pop("window"), found.pop("width")
    out: dict[str, Any] = {"inside": inside, "unread": unread} | found
    if isinstance(text.get("multi_query"), bool) and text.get("new_decoder_architecture") is not True:
        out["kept"] = 1 if text["multi_query"] else heads
        unread.pop("kept", None)
    if "kept" not in unread:
        out["kept"] = out["kept"] or heads
    if out["head"] is None and width and heads and "head" not in unread:
        if width % heads == 0:
            out["head"] = width // heads
        else:
            name = next(name for name in RULES["width"] if _whole(text.get(name)))
            unread["head"] = f"{name} is {width}, which {heads} heads can't share evenly"
    elif out["head"] is None and "width" in unread:
        unread.setdefault("head", unread["width"])
    out["latent"] = out["value"] = None
    if _whole(text.get("kv_lora_rank")) and _whole(text.get("qk_rope_head_dim")):
        out |= {"latent": [text["kv_lora_rank"], text["qk_rope_head_dim"]], "kept": None, "head": None}
    elif _whole(text.get("v_head_dim")):
        out["value"] = text["v_head_dim"]
    kinds, doubt = _kinds(text, out, window)
    if kinds and out["layers"] is None:
        out["layers"] = sum(kinds.values())
    out |= {"kinds": kinds, "window": window if kinds and NARROW & set(kinds) else None}
    cache, why = _cache(text, out, doubt)
    if any(not _empty(text.get(name)) for name in RULES["looks"]):
        out["kinds"] = None
    return out | {"cache": cache, "why": why, "positions": _positions(text, unread)}


def _found(text: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the numbers that fields say, and what is wrong with those that say them otherwise."""
    found, unread = {}, {}
    for what in RULES["numbers"]:
        names = RULES[what]
        if what == "heads" and _whole(text.get("d_kv")):
            names = [*names, "num_heads"]  # in other models these are the heads of a state
        found[what] = next((text[name] for name in names if _whole(text.get(name))), None)
        # Where a window is, 0 and false say that there is none.
        absent = _empty if what == "window" else lambda value: value is None
        wrong = next((name for name in names if not absent(text.get(name))), None)
        if found[what] is None and wrong is not None:
            unread[what] = f"{wrong} is {_said(text[wrong])}, no whole number above 0"
    return found, unread


def _said(value: Any) -> str:
    if isinstance(value, str):
        return f"“{value[:40]}”"
    return "a list or an object" if isinstance(value, list | dict) else json.dumps(value)


def _encoder(text: Mapping[str, Any]) -> bool:
    if text.get("is_decoder") is True or text.get("is_encoder_decoder") is True:
        return False
    return text.get("model_type") in RULES["encoders"]


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _empty(value: Any) -> bool:
    return (
        value is None or value is False or value in (0, "") or (isinstance(value, list | dict) and not value)
    )


def _by_type(text: Mapping[str, Any]) -> str | None:
    return next((why for name, why in RULES["types"].items() if text.get("model_type") == name), None)


def _kinds(
    text: Mapping[str, Any], out: Mapping[str, Any], window: int | None
) -> tuple[dict[str, int] | None, str]:
    """Count the layers of each kind, or say why they can't be counted."""
    layers = out["layers"]
    if (doubt := _by_type(text)) is not None:
        return None, doubt
    said = next((text[name] for name in RULES["each"] if isinstance(text.get(name), list)), None)
    indices = text.get("attn_layer_indices")
    if said is not None:
        odd = next((word for word in said if not isinstance(word, str) or word not in RULES["kinds"]), None)
        if odd is not None:
            return None, f"layers of the kind “{odd}” are not read here"
        if layers not in (None, len(said)):
            return None, f"{len(said)} layers are listed, and {layers} counted"
        names = [RULES["kinds"][word] for word in said]
    elif layers is None:
        return None, out["unread"].get("layers", "no field says how many layers there are")
    elif layers > RULES["most"]:
        return None, RULES["many"]
    elif isinstance(indices, list) and indices:
        names = ["full" if at in indices else "linear" for at in range(layers)]
    elif _whole(period := text.get("attn_layer_period")):
        names = [
            "full" if at % period == text.get("attn_layer_offset", 0) else "linear" for at in range(layers)
        ]
    elif _whole(period := text.get("full_attention_interval")):
        names = ["linear" if (at + 1) % period else "full" for at in range(layers)]
    elif out["heads"] is None and _whole(text.get("state_size")):
        names = ["linear"] * layers
    elif any(name.startswith(start) for name in text for start in RULES["states"]):
        return None, "no field says which layers have a state"
    elif "window" in out["unread"] and text.get("use_sliding_window") is not False:
        return None, out["unread"]["window"]
    elif window is None or text.get("use_sliding_window") is False:
        chosen = out["latent"] and _whole(text.get("index_topk"))
        names = ["selected" if chosen else "full"] * layers
    elif _whole(period := text.get("sliding_window_pattern")):
        names = ["window" if (at + 1) % period else "full" for at in range(layers)]
    elif text.get("model_type") in RULES["windows"]:
        names = ["window"] * layers
    else:
        return None, "no field says which layers have the window"
    if NARROW & set(names) and window is None:
        return None, out["unread"].get("window", "no field says how long the window is")
    if _whole(shared := text.get("num_kv_shared_layers")):
        names = [name if at < layers - shared else "shared" for at, name in enumerate(names)]
    return {name: names.count(name) for name in dict.fromkeys(names)}, ""


def _cache(
    text: Mapping[str, Any], out: Mapping[str, Any], doubt: str
) -> tuple[list[dict[str, Any]] | None, str]:
    """Return what each kind of layer keeps of a token, or say what hides it."""
    if (why := _by_type(text)) is not None:
        return None, why
    if _encoder(text):
        return [], RULES["nothing"]
    odd = next((name for name in RULES["odd"] if not _empty(text.get(name))), None)
    if odd:
        return None, f"{odd} {RULES['changes']}"
    if out["kinds"] is None:
        return None, doubt
    if isinstance(types := text.get("indexer_types"), list) and any(word != "full" for word in types):
        return None, RULES["another"]
    keeps = [name for name in out["kinds"] if name in NARROW | {"full", "selected"}]
    if not keeps:
        return [], ""
    if out["latent"]:
        terms = [out["latent"]]
    elif not out["kept"]:
        said = out["unread"].get("kept") or out["unread"].get("heads")
        return None, said or "no field says how many heads there are"
    elif not out["head"]:
        return None, out["unread"].get("head", "no field says how wide a head is")
    elif out["value"]:
        terms = [out["kept"], [out["head"], out["value"]]]
    else:
        terms = [2, out["kept"], out["head"]]
    chooser = text.get("index_head_dim")
    if "selected" in keeps and not (out["latent"] and _whole(chooser)):
        return None, "no field says what is kept to choose keys by"
    groups = []
    for name in keeps:
        ends = {"window": out["window"]} if name in NARROW else {}
        each = [[*terms[0], chooser]] if name == "selected" else terms
        groups.append({"layers": out["kinds"][name], "terms": each} | ends)
    return groups, ""


def _positions(text: Mapping[str, Any], unread: dict[str, str]) -> dict[str, Any] | None:
    """Return how places are told, as far as fields say it; `unread` gets a base that can't be used."""
    attention = text.get("attn_config") if isinstance(text.get("attn_config"), Mapping) else {}
    if text.get("alibi") is True or attention.get("alibi") is True:
        return {"kind": "ALiBi"}
    if text.get("learned_pos_emb") is True or text.get("use_learned_position_embeddings") is True:
        return {"kind": "learned"}
    scaling = text.get("rope_parameters", text.get("rope_scaling"))
    parts = [text]
    if isinstance(scaling, Mapping):
        parts += [scaling, *(part for part in scaling.values() if isinstance(part, Mapping))]
    given = [(name, part[name]) for part in parts for name in RULES["bases"] if part.get(name) is not None]
    bases = [value for _, value in given if _number(value)]
    types = [part.get("rope_type", part.get("type")) for part in parts[1:]]
    types = [name for name in types if isinstance(name, str)]
    factors = [part["factor"] for part in parts[1:] if _number(part.get("factor"))]
    if not (given or types or factors or _whole(text.get("rotary_dim"))):
        return None
    if given and not bases:
        unread["base"] = f"{given[0][0]} is {_said(given[0][1])}, no number above 0"
    said = [name for name in types if name not in ("default", "main")]
    bare = text.get("no_rope_layers")
    return {
        "kind": "rotary",
        "bases": sorted(set(bases)),
        "stretched": said[0] if said else None,
        "factor": factors[0] if factors else None,
        "bare": bare.count(0) if isinstance(bare, list) else 0,
    }


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0


def group_bytes(group: Mapping[str, Any]) -> int:
    """Return what a group of layers keeps of a token, in bytes."""
    terms = (sum(term) if isinstance(term, list) else term for term in group["terms"])
    return group["layers"] * prod(terms) * BYTES


def token_bytes(reading: Mapping[str, Any]) -> int | None:
    """Return what each further token adds to the cache, past all windows, in bytes; None if unknown."""
    if reading["cache"] is None:
        return None
    return sum(group_bytes(group) for group in reading["cache"] if "window" not in group)


WORDS = {
    "full": "full",
    "window": "with a window of {window} tokens",
    "block": "with blocks of {window} tokens",
    "selected": "with chosen keys",
    "linear": "with a state in place of keys",
    "convolution": "with a short convolution",
    "shared": "with the cache of another layer",
    "none": "without attention",
}
"""Kind of a layer -> what it is called behind a number."""


def summary(reading: Mapping[str, Any]) -> list[tuple[str, list[str]]]:
    """Say a reading in words: lines for layers, heads, cache, window, positions and length.

    >>> summary(read({"n_layer": 2, "n_head": 4, "n_embd": 64, "n_positions": 512}))[1]
    ('heads', ['4 of queries, 4 of keys and values, each 16 wide'])
    """
    unknown = lambda what: f"unknown: {reading['unread'].get(what, 'no field says it')}"  # noqa: E731
    kinds, layers = reading["kinds"], reading["layers"]
    counted = unknown("layers") if layers is None else f"{layers:,}"
    if kinds:
        window = f"{reading['window'] or 0:,}"
        each = [f"{count} {WORDS[name].format(window=window)}" for name, count in kinds.items()]
        counted += f": {', '.join(each)}" if len(each) > 1 else f", all {each[0].partition(' ')[2]}"
    elif layers:
        counted += "; of which kinds is unknown"
    return [
        ("layers", [counted]),
        ("heads", [_heads(reading) or unknown("heads")]),
        ("cache", _kept(reading)),
        ("window", [_window(reading)]),
        ("positions", [_places(reading) or unknown("positions")]),
        ("made for", [unknown("length") if reading["length"] is None else f"{reading['length']:,} tokens"]),
    ]


def _heads(reading: Mapping[str, Any]) -> str:
    heads, kept, head = reading["heads"], reading["kept"], reading["head"]
    if heads is None:
        states = {"linear", "convolution", "none"}
        return "none: no layer has a softmax" if reading["kinds"] and set(reading["kinds"]) <= states else ""
    if reading["latent"]:
        latent, turned = reading["latent"]
        return f"{heads:,} of queries; keys and values are made from a latent of {latent:,} + {turned:,}"
    if kept is None:
        return f"{heads:,} of queries; keys and values are unknown: {reading['unread']['kept']}"
    each = "" if head is None else f", each {head:,} wide"
    if reading["value"] and reading["value"] != head:
        each += f" (values {reading['value']:,})"
    shared = f": {heads // kept} queries share one" if heads > kept and heads % kept == 0 else ""
    return f"{heads:,} of queries, {kept:,} of keys and values{each}{shared}"


def _kept(reading: Mapping[str, Any]) -> list[str]:
    groups = reading["cache"]
    if groups is None:
        return [f"unknown: {reading['why']}"]
    lines = [] if groups else [f"0 bytes a token: {reading['why'] or 'what is kept does not grow'}"]
    for group in sorted(groups, key=lambda group: "window" in group):
        factors: Sequence[str] = [f"{group['layers']} layers", *map(_term, group["terms"])]
        limit = f", for the last {group['window']:,} tokens only" if "window" in group else ""
        product = f"{' × '.join(factors)} × {BYTES} bytes"
        lines.append(f"{product} = {group_bytes(group):,} bytes a token{limit}")
    held = {"linear": "a state", "convolution": "the last tokens of a convolution"}
    for name, what in held.items():
        if not reading["why"] and (many := (reading["kinds"] or {}).get(name)):
            lines.append(f"and {what} in {many} layers, whatever the length: not computed here")
    return lines


def _term(term: int | list[int]) -> str:
    return f"({' + '.join(f'{one:,}' for one in term)})" if isinstance(term, list) else f"{term:,}"


def _window(reading: Mapping[str, Any]) -> str:
    if reading["window"]:
        which = next(kind for kind in reading["kinds"] if kind in NARROW)
        blocks = "blocks of " if which == "block" else ""
        return f"{blocks}{reading['window']:,} tokens, in {reading['kinds'][which]} layers"
    if reading["kinds"]:
        return "none"
    return f"unknown: {reading['unread'].get('window', 'no field says which layers have one')}"


def _places(reading: Mapping[str, Any]) -> str:
    positions = reading["positions"]
    if positions is None:
        return ""
    if positions["kind"] != "rotary":
        return str(positions["kind"])
    out = "rotary"
    if positions["bases"]:
        out += f", base {' and '.join(f'{base:,.0f}' for base in positions['bases'])}"
    else:
        why = reading["unread"].get("base")
        out += f", base unknown: {why}" if why else ", base not said"
    if positions["stretched"]:
        times = "" if positions["factor"] is None else f" by {positions['factor']:g}"
        out += f", stretched{times} ({positions['stretched']})"
    return out + (f"; {positions['bare']} layers without" if positions["bare"] else "")
