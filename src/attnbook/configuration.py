"""What a model's configuration says of its attention: layers, heads, windows, positions, and the cache.

Only what fields say is read. A class may do more than its fields tell: where it is known to, where a value
can't be used, or where a field is not read whose name is of heads, layers, windows or states, the answer is
None, and `why` says so. The page reads the same `RULES`.

>>> read({"n_layer": 2, "n_head": 4, "num_key_value_heads": 1, "head_dim": 8})["cache"]
[{'layers': 2, 'terms': [2, 1, 8]}]
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from attnbook.fields import (
    by_type,
    empty,
    inner,
    numbers,
    others,
    passed,
    places,
    plain,
    quoted,
    reads,
    unfit,
    whole,
)
from attnbook.reading import NARROW
from attnbook.rules import RULES


def read(config: Mapping[str, Any]) -> dict[str, Any]:
    """Read what the fields of a configuration say; what they don't say is None.

    Args:
        config: the fields, as a `config.json` has them.

    Returns:
        `inside` (where the model of the text stands), `foreign` (its class is not known), `more` (fields that
        its class has and the file leaves out), `layers`, `kinds` (how many layers of each kind), `heads`,
        `kept` (heads of keys and values), `head` (their width), `value` (that of values), `latent`,
        `cache` (groups of layers, with numbers whose product a token takes, where a list is a sum, and the
        window that ends it; a `state` is as if of one token), `why` (what hides the cache), `window`,
        `positions`, `length`, `reads` (it may be a model that writes nothing), `by` (for what no field says,
        whether it is the class's or taken), and `unread` (for what a field says in a way that can't be used,
        which field and how).
    """
    inside, text = inner(plain(config))
    more = _class(text).get("more", {})
    more = {name: value for name, value in more.items() if not {name, RULES["also"].get(name)} & text.keys()}
    text = more | (text["attn_config"] if isinstance(text.get("attn_config"), Mapping) else {}) | text
    if isinstance(listed := text.get("linear_attn_config"), Mapping) and listed.get("full_attn_layers"):
        # Kimi Linear counts its layers from 1.
        full = listed["full_attn_layers"]
        text["attn_layer_indices"] = (
            [at - 1 if whole(at) else at for at in full] if isinstance(full, list) else full
        )
    found, unread = numbers(text)
    own, by = _left_out(text, found, unread)
    heads, window, width = found["heads"], found.pop("window"), found.pop("width")
    if "length" not in by and {text[name] for name in RULES["length"] if whole(text.get(name))} - {
        found["length"]
    }:
        by["length"] = "taken"
    out: dict[str, Any] = {"inside": inside, "more": [*more], "unread": unread, "by": by} | found
    named = text.get("model_type")
    out["foreign"] = isinstance(named, str) and named != "" and named not in RULES["classes"]
    if isinstance(text.get("multi_query"), bool) and text.get("new_decoder_architecture") is not True:
        out["kept"] = 1 if text["multi_query"] else heads
        unread.pop("kept", None)
        by.pop("kept", None)
    elif out["kept"] is None and (other := others(text)):
        unread.setdefault("kept", other)
    if "kept" not in unread and out["kept"] is None and heads:
        out["kept"] = heads
        if own.get("kept") != 0:
            by["kept"] = "taken"
    if heads and out["kept"] and heads % out["kept"]:
        unread["kept"] = f"{heads} heads can't share {out['kept']} of keys and values evenly"
        out["kept"] = None
    if out["head"] is None and width and heads and "head" not in unread:
        if width % heads == 0:
            out["head"] = width // heads
            if "width" in by or own.get("head") != 0:
                by["head"] = by.get("width", "taken")
        else:
            name = next((name for name in RULES["width"] if whole(text.get(name))), RULES["own_width"])
            unread["head"] = f"{name} is {width}, which {heads} heads can't share evenly"
    elif out["head"] is None and "width" in unread:
        unread.setdefault("head", unread["width"])
    out["latent"] = out["value"] = None
    if whole(text.get("kv_lora_rank")) and text.get("use_mla") is not False:
        out |= {"kept": None, "head": None}
        if whole(text.get("qk_rope_head_dim")):
            out["latent"] = [text["kv_lora_rank"], text["qk_rope_head_dim"]]
        else:
            unread["kept"] = RULES["unturned"]
    elif whole(text.get("v_head_dim")):
        out["value"] = text["v_head_dim"]
    kinds, doubt = _kinds(text, out, window, own)
    if kinds and out["layers"] is None:
        out["layers"] = sum(kinds.values())
    out |= {"kinds": kinds, "window": window if kinds and NARROW & set(kinds) else None}
    cache, why = _cache(text, out, doubt)
    if looks := next((name for name in RULES["looks"] if not empty(text.get(name))), None):
        out["kinds"], doubt = None, f"{looks} {RULES['blurs']}"
    if out["kinds"] is None:
        unread["kinds"] = doubt
    told = {"positions": places(text, unread, own.get("bases", ())), "reads": reads(text)}
    return out | {"cache": cache, "why": why} | told


def _class(text: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what is known of the class of a file's model."""
    named = text.get("model_type")
    return RULES["classes"].get(named, {}) if isinstance(named, str) else {}


def _left_out(
    text: Mapping[str, Any], found: dict[str, Any], unread: dict[str, str]
) -> tuple[Mapping[str, Any], dict[str, str]]:
    """Put in what a file leaves out and its class says; return what the class has, and which were put in."""
    own, by = _class(text), {}
    for what in RULES["numbers"]:
        # A list of layers counts them, and Falcon's newer design shares no keys unless a field says so.
        counted = what == "layers" and any(text.get(name) for name in RULES["each"])
        newer = what == "kept" and text.get("new_decoder_architecture") is True
        if what not in own or counted or newer or any(name in text for name in RULES[what]):
            continue
        if own[what]:
            found[what], by[what] = own[what], "own"
        elif own[what] is None:
            unread[what] = RULES["no"][what]
    if not own and not any(name in text for name in (*RULES["window"], *RULES["each"])):
        by["window"] = "taken"
    return own, by


def _kinds(
    text: Mapping[str, Any], out: Mapping[str, Any], window: int | None, own: Mapping[str, Any]
) -> tuple[dict[str, int] | None, str]:
    """Count the layers of each kind, or say why they can't be counted."""
    layers = out["layers"]
    if doubt := by_type(text) or unfit(text):
        return None, doubt
    listed = next((name for name in RULES["each"] if text.get(name)), "")
    said = text[listed] if listed else None
    indices = text.get("attn_layer_indices")
    sliding = not empty(text.get("sliding_window_pattern")) and text["sliding_window_pattern"]
    closed = text.get("use_sliding_window") is False
    states = out["heads"] is None and "heads" not in out["unread"] and whole(text.get("state_size"))
    periods = whole(text.get("attn_layer_period")) or whole(text.get("full_attention_interval"))
    named, every = text.get("model_type"), text.get("global_attn_every_n_layers")
    every = every if isinstance(named, str) and named in RULES["every"] and whole(every) else 0
    settled = bool(said or indices or periods or every or states)
    if doubt := passed(text, layers, settled, window is not None and not closed and not whole(sliding)):
        return None, doubt
    if said:
        words = [word if isinstance(word, str) else f"{listed} {json.dumps(word)}" for word in said]
        if odd := [word for word, key in zip(said, words, strict=True) if key not in RULES["kinds"]]:
            return None, f"layers of the kind {quoted(odd[0])} are not read here"
        if layers not in (None, len(said)):
            return None, f"{len(said)} listed layers are not the {layers} that are counted"
        layers, names = len(said), [RULES["kinds"][word] for word in words]
    elif layers is None:
        return None, out["unread"].get("layers", RULES["no"]["layers"])
    elif layers > RULES["most"]:
        return None, RULES["many"]
    elif indices:
        if not all(isinstance(at, int) and not isinstance(at, bool) and 0 <= at < layers for at in indices):
            return None, RULES["absent"]
        names = ["full" if at in indices else "linear" for at in range(layers)]
    elif whole(period := text.get("attn_layer_period")):
        first = text.get("attn_layer_offset") or 0
        if first >= period:
            return None, f"attn_layer_offset is {first}, of a period of {period}"
        names = ["full" if at % period == first else "linear" for at in range(layers)]
    elif whole(period := text.get("full_attention_interval")):
        names = ["linear" if (at + 1) % period else "full" for at in range(layers)]
    elif every:
        names = ["window" if (at + RULES["every"][named]) % every else "full" for at in range(layers)]
    elif states:
        names = ["linear"] * layers
    elif "window" in out["unread"] and not closed:
        return None, out["unread"]["window"]
    elif "each" in own and not sliding and not closed:
        if own["each"] is None or text.get("no_rope_layers") or text.get("no_rope_layer_interval"):
            return None, RULES["no"]["each"]
        names = [RULES["letters"][own["each"][at % len(own["each"])]] for at in range(layers)]
        out["by"]["each"] = "own"
    elif window is None or closed:
        chosen = out["latent"] and whole(text.get("index_topk"))
        names = ["selected" if chosen else "full"] * layers
    elif sliding and not whole(sliding):
        return None, f"sliding_window_pattern is {quoted(sliding)}, {RULES['unfit']['wholes']}"
    elif sliding:
        names = ["window" if (at + 1) % sliding else "full" for at in range(layers)]
    elif text.get("model_type") in RULES["windows"]:
        names = ["window"] * layers
    else:
        return None, RULES["no"]["windows"]
    if out["heads"] is None and not settled:
        return None, out["unread"].get("heads", RULES["no"]["heads"])
    if NARROW & set(names) and window is None:
        return None, out["unread"].get("window", RULES["no"]["window"])
    if whole(shared := text.get("num_kv_shared_layers")):
        if shared >= layers:
            return None, f"num_kv_shared_layers is {shared}, of {layers} layers"
        names = [name if at < layers - shared else "shared" for at, name in enumerate(names)]
    return {name: names.count(name) for name in dict.fromkeys(names)}, ""


def _states(text: Mapping[str, Any], kinds: Mapping[str, int]) -> list[dict[str, Any]]:
    """Return what layers with a state keep, where fields tell it."""
    of = (products for types, products in RULES["states"] if text.get("model_type") in types)
    products = next(of, ()) if "linear" in kinds else ()
    value = lambda name: text[name] if whole(text.get(name)) else math.nan  # noqa: E731
    term = lambda one: sum(map(value, one)) if isinstance(one, list) else value(one)  # noqa: E731
    numbers = sum(math.prod(map(term, product)) for product in products)
    told = numbers and not math.isnan(numbers)
    return [{"layers": kinds["linear"], "terms": [numbers], "window": 1, "state": True}] if told else []


def _cache(
    text: Mapping[str, Any], out: Mapping[str, Any], doubt: str
) -> tuple[list[dict[str, Any]] | None, str]:
    """Return what each kind of layer keeps of a token, or say what hides it."""
    if (why := by_type(text)) is not None:
        return None, why
    odd = next((name for name in RULES["odd"] if not empty(text.get(name))), None)
    if odd:
        return None, f"{odd} {RULES['changes']}"
    if out["kinds"] is None:
        return None, doubt
    if isinstance(types := text.get("indexer_types"), list) and any(word != "full" for word in types):
        return None, RULES["another"]
    keeps = [name for name in out["kinds"] if name in NARROW | {"full", "selected"}]
    groups = _states(text, out["kinds"])
    if not keeps:
        return groups, ""
    if out["latent"]:
        terms = [out["latent"]]
    elif not out["kept"]:
        said = out["unread"].get("kept") or out["unread"].get("heads")
        return None, said or RULES["no"]["heads"]
    elif not out["head"]:
        return None, out["unread"].get("head", RULES["no"]["head"])
    elif out["value"]:
        terms = [out["kept"], [out["head"], out["value"]]]
    else:
        terms = [2, out["kept"], out["head"]]
    chooser = text.get("index_head_dim")
    if "selected" in keeps and not (out["latent"] and whole(chooser)):
        return None, RULES["no"]["choose"]
    # A window that no text outgrows ends nothing.
    ended = not (out["window"] and out["length"] and out["window"] >= out["length"])
    for name in keeps:
        ends = {"window": out["window"]} if name in NARROW and ended else {}
        each = [[*terms[0], chooser]] if name == "selected" else terms
        groups.append({"layers": out["kinds"][name], "terms": each} | ends)
    return groups, ""
