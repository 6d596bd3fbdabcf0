"""A reading of a model's configuration, told: in bytes of its cache, and in words.

>>> reading = {"cache": [{"layers": 2, "terms": [2, 1, 8]}]}
>>> token_bytes(reading)
64
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from attnbook.rules import RULES

BYTES = 2
"""Of a number in the cache, as nearly all are kept."""
NARROW = {"window", "block"}
"""Kinds of layers that keep no more than so many tokens."""


def group_bytes(group: Mapping[str, Any]) -> int:
    """Return what a group of layers keeps of a token, in bytes."""
    terms = (sum(term) if isinstance(term, list) else term for term in group["terms"])
    return group["layers"] * prod(terms) * BYTES


def token_bytes(reading: Mapping[str, Any]) -> int | None:
    """Return what each further token adds to the cache, past all windows, in bytes; None if unknown."""
    if reading["cache"] is None:
        return None
    return sum(group_bytes(group) for group in reading["cache"] if "window" not in group)


def held_bytes(reading: Mapping[str, Any], n: int) -> int | None:
    """Return what the cache holds of n tokens, with states where fields tell them, in bytes; None if unknown.

    >>> held_bytes({"cache": [{"layers": 2, "terms": [2, 1, 8], "window": 100}], "kinds": None}, 1000)
    6400
    """
    if reading["cache"] is None or (not reading["cache"] and _uncounted(reading)):
        return None
    return sum(group_bytes(group) * min(n, group.get("window", n)) for group in reading["cache"])


def _uncounted(reading: Mapping[str, Any]) -> dict[str, int]:
    """Return the kinds of layers that hold what is not computed, and how many there are."""
    told = any("state" in group for group in reading["cache"] or ())
    left = set(RULES["held"]) - ({"linear"} if told else set())
    return {name: many for name, many in (reading["kinds"] or {}).items() if name in left}


def summary(reading: Mapping[str, Any]) -> list[tuple[str, list[str]]]:
    """Say a reading in words: lines for layers, heads, cache, window, positions and length.

    >>> from attnbook.configuration import read
    >>> summary(read({"n_layer": 2, "n_head": 4, "n_kv_heads": 2, "head_dim": 16, "n_positions": 512}))[1]
    ('heads', ['4 of queries, 2 of keys and values, each 16 wide: 2 heads of queries share one'])
    """
    unknown = lambda what: f"unknown: {reading['unread'].get(what, RULES['no']['it'])}"  # noqa: E731
    kinds, layers = reading["kinds"], reading["layers"]
    counted = unknown("layers") if layers is None else f"{layers:,}{_by(reading, 'layers')}"
    if kinds:
        window = f"{reading['window'] or 0:,}"
        each = [f"{count} {RULES['words'][name].replace('#', window)}" for name, count in kinds.items()]
        counted += f": {', '.join(each)}" if len(each) > 1 else f", all {each[0].partition(' ')[2]}"
        counted += RULES["which_own"] if reading["by"].get("each") else ""
    elif layers:
        counted += "; of which kinds is unknown"
    return [
        ("layers", [counted]),
        ("heads", [_heads(reading) or unknown("heads")]),
        ("cache", _kept(reading)),
        ("in all", [_held(reading)]),
        *_window(reading),
        ("positions", [_places(reading) or unknown("positions")]),
        ("made for", [_length(reading) or unknown("length")]),
    ]


def _length(reading: Mapping[str, Any]) -> str:
    return f"{reading['length']:,} tokens{_by(reading, 'length')}" if reading["length"] else ""


def _held(reading: Mapping[str, Any]) -> str:
    n = reading["length"] or RULES["length_taken"]
    size, held = held_bytes(reading, n), "unknown"
    if size is not None:
        unit, name = (2**30, "GiB") if size >= 2**30 else (2**20, "MiB")
        tenths = (size * 20 + unit) // (2 * unit)
        held = f"{tenths // 10:,}.{tenths % 10} {name}"
    longest = f", its longest text{_by(reading, 'length')}" if reading["length"] else RULES["ours"]
    aside = RULES["aside"] if size and _uncounted(reading) else ""
    return f"{held} at {n:,} tokens{longest}{aside}"


def _by(reading: Mapping[str, Any], what: str) -> str:
    """Say in brackets where a value comes from that no field says."""
    by = reading["by"].get(what)
    return f" ({RULES['own'] if by == 'own' else RULES['taken'][what]})" if by else ""


def _heads(reading: Mapping[str, Any]) -> str:
    heads, kept, head = reading["heads"], reading["kept"], reading["head"]
    if heads is None:
        states = {"linear", "convolution", "none"}
        return "none: no layer has a softmax" if reading["kinds"] and set(reading["kinds"]) <= states else ""
    asked = f"{heads:,} of queries{_by(reading, 'heads')}"
    if reading["latent"]:
        latent, turned = reading["latent"]
        return f"{asked}; keys and values are made from a latent of {latent:,} + {turned:,}"
    if kept is None:
        return f"{asked}; keys and values are unknown: {reading['unread']['kept']}"
    each = "" if head is None else f", each {head:,} wide{_by(reading, 'head')}"
    if head is not None and reading["value"] and reading["value"] != head:
        each += f" (values {reading['value']:,})"
    shared = f": {heads // kept} heads of queries share one" if heads > kept else ""
    return f"{asked}, {kept:,} of keys and values{_by(reading, 'kept')}{each}{shared}"


def _kept(reading: Mapping[str, Any]) -> list[str]:
    groups = reading["cache"]
    if groups is None:
        return [f"unknown: {reading['why']}", *_more(reading)]
    lines = [] if groups else ["0 bytes a token"]
    for group in sorted(groups, key=lambda group: "window" in group):
        factors: Sequence[str] = [_layers(group["layers"]), *map(_term, group["terms"])]
        limit = f", for the last {group['window']:,} tokens only" if "window" in group else ""
        kept = RULES["stays"] if "state" in group else f" bytes a token{limit}"
        lines.append(f"{' × '.join(factors)} × {BYTES} bytes = {group_bytes(group):,}{kept}")
    for name, many in _uncounted(reading).items():
        lines.append(f"and {RULES['held'][name]} in {_layers(many)}, {RULES['apart']}")
    lines += [RULES["if"]] if reading["reads"] else []
    lines += [RULES["foreign"]] if reading["foreign"] else []
    return lines + _more(reading)


def _more(reading: Mapping[str, Any]) -> list[str]:
    """Name the fields of a class that a file leaves out, and that are read all the same."""
    return [f"{RULES['more']}{', '.join(reading['more'])}"] if reading["more"] else []


def _layers(many: int) -> str:
    return f"{many} layer{'' if many == 1 else 's'}"


def _term(term: int | list[int]) -> str:
    return f"({' + '.join(f'{one:,}' for one in term)})" if isinstance(term, list) else f"{term:,}"


def _real(number: float) -> str:
    return f"{number:,}" if isinstance(number, int) else repr(number)


def _window(reading: Mapping[str, Any]) -> list[tuple[str, list[str]]]:
    """Say what the line of layers does not: whence a window is known, or why it is not."""
    kinds = reading["kinds"]
    if kinds and not reading["by"].get("window"):
        return []
    if not kinds:
        why = reading["unread"].get("window") or reading["unread"].get("kinds")
        return [("window", [f"unknown: {why}"])]
    if reading["window"]:
        return [("window", [f"{reading['window']:,} tokens{_by(reading, 'window')}"])]
    return [("window", [RULES["unsaid"]])]


def _places(reading: Mapping[str, Any]) -> str:
    positions = reading["positions"]
    if positions is None:
        return ""
    if positions["kind"] != "rotary":
        return str(positions["kind"])
    out = "rotary"
    if positions["bases"]:
        own = f" ({RULES['own']})" if positions["by"] else ""
        out += f", base {' and '.join(map(_real, positions['bases']))}{own}"
    else:
        why = reading["unread"].get("base")
        out += f", base unknown: {why}" if why else ", base not said"
    if positions["stretched"]:
        times = "" if positions["factor"] is None else f" by {_real(positions['factor'])}"
        alpha = "" if positions["alpha"] is None else f", alpha {_real(positions['alpha'])}"
        some = "in some layers " if positions["some"] else ""
        out += f", {some}stretched{times} ({positions['stretched']}{alpha})"
    if positions["bare"] is None:
        return out + RULES["bare_own"]
    return out + (f"; {_layers(positions['bare'])} without" if positions["bare"] else "")
