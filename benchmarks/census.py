"""How attention changed: every causal language model of the transformers library, run without numbers.

Each model is built in its default configuration on torch's meta device, where tensors have shapes and no
numbers, and called with 128 and with 256 tokens. What is stored is what happened: which modules mixed
tokens, what their cache holds, whether a softmax had more columns than there are keys. Nothing is typed by a
model's name. The year is that of the copyright line at the head of the model's code.
The packages to run it with are in benchmarks/requirements.txt:

    python benchmarks/census.py                  writes results/census.json, in about ten minutes
    python benchmarks/census.py --only llama     prints rows, and stores nothing
    python benchmarks/census.py --check          says whether a run gives what is stored, the provenance apart
    python benchmarks/census.py --checkpoints    writes results/census-checkpoints.json, in a minute

Where a default configuration makes no model, or one that can't run, the row is read from the source of its
classes ("read": "class" or "modules"); what can't be told is left out and listed under "unknown".

A default configuration need not be that of a published model. For some that everybody knows,
benchmarks/checkpoints.json has the fields of attention in which the checkpoint differs from it, and the
public places that say so; they go through the same run.
"""

from __future__ import annotations

import argparse
import collections
import inspect
import json
import logging
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from transformers.cache_utils import DynamicCache
from transformers.models.auto import configuration_auto, modeling_auto

from attnbook import results

COMMAND = "python benchmarks/census.py"
CHECKPOINTS = Path(__file__).parent / "checkpoints.json"
SIZES = (128, 256)
"""Two lengths, each a multiple of all rates at which a cache is pooled: what grows between is a token's."""
MIXES = re.compile(r"Attention|Attn|MLA$|Mixer|Mamba|DeltaNet|ShortConv|RecurrentBlock|^xLSTMLayer$")
NO_MIXER = re.compile(
    r"DecoderLayer$|Model$|LM$|(?<!Recurrent)Block$|Norm|Residual|Experts|MLP|Conv1d|Router|Embedding|PreTrained"
)
NORM = re.compile(r"Norm(Gated)?$|^LayerNorm$|RMSNorm|LayerNorm")
ASKS = re.compile(r"(^|[._])(q|k|qk|query|key|q_b)_?(layer)?_?(norm|layernorm|ln|rmsnorm)$|^qk_norm|_qk_norm")
TURNS = re.compile(r"apply_\w*rot|rotate_(half|every)|apply_rope|rotary_pos|apply_multimodal_rot")
FEW = {"sigmoid", "silu", "tanh", "softplus", "topk", "_softmax", "softmax"}
KINDS = {  # words of configurations -> the letter of a layer
    "full_attention": "F",
    "global": "F",
    "attention": "F",
    "full": "F",
    "sliding_attention": "W",
    "chunked_attention": "B",
    "local": "W",
    "indexed_attention": "S",
    "compressed_sparse_attention": "S",
    "heavily_compressed_attention": "P",
    "minimax_m3_sparse": "S",
    "lsh": "S",
    "block_sparse": "S",
    "linear_attention": "L",
    "recurrent": "L",
    "mamba": "L",
    "conv": "C",
    "hybrid": "H",
    "hybrid_sliding": "H",
    "moe": "N",
    "mlp": "N",
}


@dataclass
class Layer:
    """What one layer did in one run."""

    index: int
    softmax: list[tuple[int, ...]] = field(default_factory=list)
    """Shapes of what went through a softmax in a module that mixes tokens."""
    calls: list[dict[str, Any]] = field(default_factory=list)
    """What the library's attention function was given."""
    mixers: dict[str, str] = field(default_factory=dict)
    """Name of a module that mixes tokens and was called -> its class."""
    soft: set[str] = field(default_factory=set)
    """Names of the modules in which a softmax ran."""
    ops: set[tuple[str, str, str]] = field(default_factory=set)
    """(name of the mixer, class of the module, operation)."""
    gates: set[str] = field(default_factory=set)
    """What was bent between 0 and 1, or from 0 up, in a mixer behind its softmax."""
    normed: set[str] = field(default_factory=set)
    """Names of the norms inside of mixers."""
    turned: bool = False
    stored: tuple[int, int] | None = None
    """Numbers a token of keys and of values that went into the cache."""
    keys: tuple[int, ...] | None = None
    """The shape of the keys that went into the cache last."""
    times: int = 0
    """How often something went into the cache."""
    order: list[tuple[str, Any, Any]] = field(default_factory=list)
    """Norms (N), mixers (M), all else (F) and what holds parts (-) as they ended, with in and out."""


class Blind(TorchDispatchMode):
    """Answer for numbers that are not there: yes to a question, no places to a list of places."""

    asked = False

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        """Run an operation."""
        name = function.overloadpacket.__name__
        if name in ("_local_scalar_dense", "nonzero"):
            self.asked = True
            no_places = args[0].new_empty(0, args[0].dim(), dtype=torch.long)
            return 1 if name == "_local_scalar_dense" else no_places
        return function(*args, **(kwargs or {}))


class Watch(Blind):
    """Record what the layers of a model do while it runs."""

    def __init__(self, model: nn.Module, layers: dict[str, int]) -> None:
        super().__init__()
        self.layers = {index: Layer(index) for index in set(layers.values())}
        self.where, self.stack, self.stored, self.alibi = layers, [], {}, False
        self.handles = []
        for name, module in model.named_modules():
            self.handles.append(
                module.register_forward_pre_hook(
                    lambda module, given, also, name=name: self._enter(name, module, given, also),
                    with_kwargs=True,
                )
            )
            self.handles.append(
                module.register_forward_hook(lambda module, given, out: self._leave(module, out))
            )

    def forget(self) -> None:
        """Begin anew, after a call that failed half-way."""
        self.layers = {index: Layer(index) for index in self.layers}
        self.stack.clear()
        self.stored.clear()

    @property
    def layer(self) -> Layer | None:
        """Return the record of the layer that runs now."""
        inside = [self.where[name] for name, *_ in self.stack if name in self.where]
        return self.layers[inside[-1]] if inside else None

    @property
    def mixer(self) -> tuple[str, str] | None:
        """Return name and class of the outermost module that mixes tokens in the layer that runs now."""
        start = max((at for at, (name, *_) in enumerate(self.stack) if name in self.where), default=None)
        if start is None:
            return None
        return next(((name, kind) for name, kind, _ in self.stack[start:] if mixes(kind)), None)

    def _enter(self, name: str, module: nn.Module, given: tuple, also: dict) -> None:
        outer = self.mixer
        self.stack.append((name, type(module).__name__, (given, also)))
        layer, kind = self.layer, type(module).__name__
        if layer is None:
            return
        mixer = self.mixer
        if mixer is not None:
            layer.mixers[name if mixes(kind) else mixer[0]] = kind if mixes(kind) else mixer[1]
            if NORM.search(kind) and outer is not None:
                layer.normed.add(name[len(mixer[0]) + 1 :])

    def _leave(self, module: nn.Module, out: Any) -> None:
        name, kind, (given, also) = self.stack.pop()
        layer = self.layer
        if layer is None or name in self.where or self.mixer is not None:
            return
        plain = any(True for _ in module.children())  # its parts have been called already
        what = "M" if mixes(kind) else "N" if NORM.search(kind) else "-" if plain else "F"
        first = next((x for x in (*given, *also.values()) if isinstance(x, Tensor)), None)
        layer.order.append((what, first, out[0] if isinstance(out, tuple) else out))

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        """Run an operation, and keep the few that tell."""
        name = function.overloadpacket.__name__
        layer, mixer = (self.layer, self.mixer) if name in FEW else (None, None)
        if layer is not None and mixer is not None:
            if name in ("softmax", "_softmax"):
                layer.softmax.append(tuple(args[0].shape))
                layer.soft.update(inner for inner, kind, _ in self.stack if mixes(kind))
            layer.ops.add((mixer[0], self.stack[-1][1], name))
            bends = name in ("sigmoid", "silu", "softplus") and mixes(self.stack[-1][1])
            if mixer[0] in layer.soft and bends:
                layer.gates.add(name)
        return super().__torch_dispatch__(function, types, args, kwargs)

    def close(self) -> None:
        """Take the hooks off."""
        for handle in self.handles:
            handle.remove()


def mixes(kind: str) -> bool:
    """Return whether a class is one that mixes tokens, by what it is called."""
    return bool(MIXES.search(kind)) and not NO_MIXER.search(kind)


@contextmanager
def spied(watch: Watch, model: nn.Module) -> Iterator[None]:
    """Watch the functions of a model's files that attend or turn, and all that goes into a cache."""
    undo = []

    def put(place: Any, name: str, new: Any) -> None:
        undo.append((place, name, place.__dict__[name]))
        setattr(place, name, new)

    def turning(old):
        def run(*args, **kwargs):
            if watch.layer is not None:
                watch.layer.turned = True
            return old(*args, **kwargs)

        return run

    def attending(old):
        def run(module, query, key, value, *args, **kwargs):
            if watch.layer is not None:
                sides = {name: tuple(x.shape) for name, x in (("q", query), ("k", key), ("v", value))}
                watch.layer.calls.append(sides | {"tied": key is value})
            return old(module, query, key, value, *args, **kwargs)

        return run

    def alibi(old):
        def run(*args, **kwargs):
            watch.alibi = True
            return old(*args, **kwargs)

        return run

    files = {sys.modules[type(module).__module__] for module in model.modules()}
    for file in files:
        if not file.__name__.startswith("transformers.models"):
            continue
        for name, thing in list(vars(file).items()):
            if inspect.isfunction(thing):
                if name.startswith("eager_attention"):
                    put(file, name, attending(thing))
                elif TURNS.search(name):
                    put(file, name, turning(thing))
                elif "alibi" in name:
                    put(file, name, alibi(thing))
    for kind in {type(module) for module in model.modules() if mixes(type(module).__name__)}:
        for name, thing in list(vars(kind).items()):
            if TURNS.search(name) and callable(getattr(kind, name)):
                old = getattr(kind, name)
                if isinstance(thing, staticmethod):
                    put(kind, name, staticmethod(turning(old)))
                else:
                    put(kind, name, turning(old))
    with storing(watch):
        try:
            yield
        finally:
            for place, name, old in reversed(undo):
                setattr(place, name, old)


@contextmanager
def storing(watch: Watch) -> Iterator[None]:
    """Watch what goes into a cache: numbers a token of keys and of values."""
    update = DynamicCache.update

    def keep(cache, keys, values, layer_idx, *args, **kwargs):
        wide = (keys.shape[1] * keys.shape[-1], 0 if keys is values else values.shape[1] * values.shape[-1])
        watch.stored[layer_idx] = wide
        if watch.layer is not None:
            old = watch.layer.stored or (0, 0)
            watch.layer.stored = (old[0] + wide[0], old[1] + wide[1])
            watch.layer.keys, watch.layer.times = tuple(keys.shape), watch.layer.times + 1
        return update(cache, keys, values, layer_idx, *args, **kwargs)

    DynamicCache.update = keep
    try:
        yield
    finally:
        DynamicCache.update = update


def repair(text: Any) -> list[str]:
    """Fill what a default leaves open and the library fills one way everywhere; return the names filled."""
    filled = []

    def fill(name: str, value: Any) -> None:
        setattr(text, name, value)
        filled.append(name)

    get = lambda name, other=None: getattr(text, name, other)  # noqa: E731
    if hasattr(text, "head_dim") and get("head_dim") is None and get("hidden_size"):
        fill("head_dim", text.hidden_size // text.num_attention_heads)
    if hasattr(text, "num_key_value_heads") and get("num_key_value_heads") is None:
        fill("num_key_value_heads", text.num_attention_heads)
    if get("is_decoder") is False:
        text.is_decoder = True  # all are read as models that write
    if hasattr(text, "num_experts_per_tok") and get("num_experts_per_tok") is None:
        fill("num_experts_per_tok", 1)
    return filled


@dataclass
class Found:
    """A model of the release: its configuration, and what is to be built of it."""

    name: str
    text: Any
    whole: Any
    maker: type
    names: list[str] = field(default_factory=list)
    """Other names of the list under which the same text model stands."""


def models(only: list[str]) -> Iterator[Found]:
    """Go through the causal language models; one model_type of a text model counts once, whoever holds it."""
    makers = modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING
    met: dict[str, Found] = {}
    for kind in modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES:
        try:
            whole = configuration_auto.CONFIG_MAPPING[kind]()
        except Exception as wrong:  # a default that its own check refuses
            met[kind] = Found(kind, None, wrong, object)
            continue
        text = whole.get_text_config(decoder=True)
        alone = type(text) in makers
        known = met.get(text.model_type)
        names = [*(known.names if known else ()), *({kind} - {text.model_type})]
        if known and not alone:
            known.names = names
            continue
        whole = text if alone else whole
        maker = makers[type(whole)]
        maker = maker[0] if isinstance(maker, tuple) else maker
        met[text.model_type] = Found(text.model_type, text, whole, maker, names)
    for name in sorted(met):
        if not only or name in only:
            yield met[name]


def checkpoints() -> list[dict[str, Any]]:
    """Read the models of which a checkpoint's own numbers are known."""
    known = json.loads(CHECKPOINTS.read_text(encoding="utf-8"))
    made = {found.name: found for found in models([one["model"] for one in known])}
    rows = []
    for one in known:
        usual = made[one["model"]]
        text = type(usual.text)(**one["fields"])
        code = source(type(text)) + inspect.getsource(sys.modules[usual.maker.__module__])
        known_to = {*vars(usual.text), *re.findall(r"\w+", code)}
        strange = sorted(set(one["fields"]) - known_to)
        if strange:
            raise ValueError(f"{one['name']}: the configuration knows no {', '.join(strange)}")
        rows.append(one | row(Found(usual.name, text, text, usual.maker)))
        for guess in ("base", "stretched", "names"):  # of the default, not of the checkpoint
            rows[-1]["positions"].pop(guess, None)
    return rows


def year(found: Found) -> int | str:
    """Return the year of the copyright line at the head of the model's code, or else of its configuration."""
    place = Path(inspect.getsourcefile(type(found.text))).parent
    for file in (*sorted(place.glob("modeling_*.py")), *sorted(place.glob("configuration_*.py"))):
        said = re.search(r"Copyright (?:\(c\) )?(20\d\d)", file.read_text()[:3000], re.I)
        if said:
            return int(said[1])
    return "unknown"


def number(text: Any, *names: str) -> int | None:
    """Return the first whole number that a configuration has under one of several names."""
    found = (getattr(text, name, None) for name in names)
    return next((value for value in found if isinstance(value, int)), None)


def stacked(model: nn.Module, text: Any) -> dict[str, int]:
    """Return the names of the layers -> their numbers.

    The stack is the longest list of modules that mix tokens; one as long as a configuration says goes first.
    """
    names = ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "decoder_layers", "num_decoder_layers")
    said = number(text, *names)
    best, rank = [], (False, 0)
    for name, module in model.named_modules():
        if not isinstance(module, nn.ModuleList) or (found := (len(module) == said, len(module))) <= rank:
            continue
        if any(mixes(type(part).__name__) for layer in module for part in layer.modules()):
            best, rank = [f"{name}.{index}" for index in range(len(module))], found
    return {name: index for index, name in enumerate(best)}


def held(thing: Any, seen: set[int]) -> int:
    """Return how many numbers an object of a cache holds."""
    if id(thing) in seen:
        return 0
    seen.add(id(thing))
    if isinstance(thing, Tensor):
        return thing.numel() if thing.dim() > 1 else 0
    if isinstance(thing, dict):
        return sum(held(part, seen) for part in thing.values())
    if isinstance(thing, list | tuple):
        return sum(held(part, seen) for part in thing)
    return held(vars(thing), seen) if "ache" in type(thing).__name__ or "State" in type(thing).__name__ else 0


def entry(layer: Any) -> tuple[str, int | None, int, int]:
    """Return class, window, numbers of keys and values, and other numbers of one layer of a cache."""
    parts = dict(vars(layer))
    both = held([parts.pop("keys", None), parts.pop("values", None)], set())
    return type(layer).__name__, parts.pop("sliding_window", None), both, held(list(parts.values()), set())


def loose(cache: Any) -> list[Tensor]:
    """Return the states that a cache holds in lists of its own, beside its layers."""
    lists = (value for value in vars(cache).values() if isinstance(value, list))
    return [part for parts in lists for part in parts if isinstance(part, Tensor)]


def grows(held_after: Any) -> bool:
    """Return whether a cache holds more than keys and values, of which one run tells all."""
    if not hasattr(held_after, "layers"):
        return held_after is not None
    return bool(loose(held_after)) or any(entry(layer)[3] for layer in held_after.layers)


def call(model: nn.Module, text: Any, n: int, watch: Watch | None = None) -> Any:
    """Run a model on n tokens without numbers, and return its cache: the library's, its own, or none."""
    ids = torch.zeros(1, n, dtype=torch.long, device="meta")
    places = torch.arange(n, device="meta")[None]
    try:
        room = DynamicCache(config=text)
    except Exception:  # it has no layers that such a cache knows
        room = None
    tries = [
        {"past_key_values": room, "use_cache": True},
        {"past_key_values": room, "use_cache": True, "position_ids": places},
        {"use_cache": True},
        {"use_cache": False},
    ]
    wrong = None
    for given in tries[0 if room is not None else 2 :]:
        try:
            with torch.no_grad():
                out = model(input_ids=ids, **given)
        except Exception as error:
            wrong = wrong or error
            if watch is not None:
                watch.forget()
            continue
        names = ("past_key_values", "cache_params", "state", "mems")
        return next((getattr(out, name) for name in names if getattr(out, name, None) is not None), None)
    raise wrong


def words(text: Any, layers: int) -> str | None:
    """Return the letters that the words of a configuration say, one a layer."""
    for name in ("layer_types", "layers_block_type", "block_types", "attention_layers", "attn_layers"):
        said = getattr(text, name, None)
        if isinstance(said, list | tuple) and said and all(word in KINDS for word in said):
            return "".join(KINDS[said[at % len(said)]] for at in range(layers))
    said = getattr(text, "attention_type", None)
    return KINDS[said] * layers if said in KINDS else None


def row(found: Found) -> dict[str, Any]:
    """Read one model."""
    if found.text is None:
        return {"model": found.name, "read": "nothing", "why": clean(found.whole)}
    text = found.text
    out = {"model": found.name, "class": found.maker.__name__, "year": year(found)}
    out |= {"names": sorted(found.names)} if found.names else {}
    try:
        text.allow_global_per_layer_attribute_access = True
        filled = repair(text)
        for config in (found.whole, text):
            config._attn_implementation = "eager"
            config._experts_implementation = "batched_mm"
        if filled:
            out["filled"] = filled
        with torch.device("meta"):
            model = found.maker(found.whole).eval()
    except Exception as wrong:
        return out | {"read": "class", "why": clean(wrong)} | of_classes(found)
    layers = stacked(model, text)
    out["layers"] = len(layers)
    watch = Watch(model, layers)
    caches = []
    try:
        with spied(watch, model), watch:
            caches.append(call(model, text, SIZES[0], watch))
        watch.close()
        if grows(caches[0]):
            with Blind() if watch.asked else nullcontext():
                caches.append(call(model, text, SIZES[1]))
    except Exception as wrong:
        watch.close()
        return out | {"read": "modules", "why": clean(wrong)} | of_classes(found, model)
    return out | {"read": "run"} | of_run(found, model, watch, caches)


def clean(wrong: Exception) -> str:
    """Return an error in a line."""
    return f"{type(wrong).__name__}: {' '.join(str(wrong).split())}"[:120]


def of_run(found: Found, model: nn.Module, watch: Watch, caches: list[Any]) -> dict[str, Any]:
    """Say what the layers of a model did."""
    text, unknown = found.text, []
    layers = [watch.layers[index] for index in sorted(watch.layers)]
    named = dict(model.named_modules())
    costs, windows, shared = of_cache(watch, caches)
    said = words(text, len(layers))
    strip, linear, attends = [], collections.Counter(), []
    for layer in layers:
        soft = [name for name in layer.mixers if name in layer.soft]
        inside = tuple(f"{name}." for name in soft)
        others = [
            name
            for name in layer.mixers
            if name not in soft
            and not name.startswith(inside)
            and not any(other.startswith(f"{name}.") for other in soft)
        ]
        others = [name for name in others if not any(name.startswith(f"{other}.") for other in others)]
        word = said[layer.index] if said else None
        if soft:
            attends.append(layer)
        strip.append(letter(layer, soft, others, word, windows.get(layer.index), named))
        if strip[-1] in "LCH" or soft:
            linear.update(layer.mixers[name] for name in others)
    strip = "".join(strip)
    out: dict[str, Any] = {"strip": strip}
    out["attention"] = sorted({innermost(layer) for layer in attends})
    short = {kind: linear.pop(kind) for kind in sorted(linear) if "Conv" in kind}
    for key, kinds in (("linear", dict(sorted(linear.items()))), ("convolution", short)):
        if kinds:
            out[key] = kinds
    out |= shapes(attends, text, unknown)
    if costs is None:
        unknown.append("cache")
    else:
        out["cache"] = costs
        if shared:
            out["shared"] = shared
    if "W" in strip and not any(windows.values()):
        sizes = (getattr(text, name, None) for name in ("sliding_window", "window_size", "local_attention"))
        windows[-1] = next((size for size in sizes if isinstance(size, int)), 0)
    narrow = [layer for layer in attends if strip[layer.index] in "WBH"]
    every = sorted({w for w in windows.values() if w} | {spans(named, layer) for layer in narrow} - {None})
    if "W" in strip or "B" in strip or every:
        out["windows"] = every or "unknown"
    out["positions"] = positions(model, watch, attends, text)
    out["norms"] = placed(layers)
    return out | tamed(model, attends, text) | ({"unknown": unknown} if unknown else {})


def letter(layer, soft, others, word, window, named) -> str:
    """Return the kind of a layer in a letter."""
    if not soft and not others:
        inside = (type(part).__name__ for name, part in named.items() if f".{layer.index}." in name)
        crossing = any("Cross" in name for name in inside)
        return "X" if crossing else "N" if not word or word == "N" else word
    if not soft and word and word in "FWBSP":
        return word
    if not soft:
        return "C" if all("Conv" in layer.mixers[name] for name in others) else "L"
    if others and not all("Conv" in layer.mixers[name] for name in others):
        return "H"
    if word and word in "FWBSP":
        return "S" if word == "F" and selects(layer, named) else word
    return "S" if selects(layer, named) else "W" if window or spans(named, layer) else "F"


def selects(layer: Layer, named: dict[str, nn.Module]) -> bool:
    """Return whether a layer chooses among keys: a mixer takes a largest few, and no router of experts does.

    Some do so only beyond a length longer than ours, so the source of the class counts as well.
    """
    if any("topk(" in source(type(named[name])) for name in layer.soft):
        return True
    return any(op == "topk" and not re.search(r"Gat|Rout", inner) for _, inner, op in layer.ops)


@cache
def source(kind: type) -> str:
    """Return the text of a class."""
    return inspect.getsource(kind)


def spans(named: dict[str, nn.Module], layer: Layer) -> int | None:
    """Return the window that the attention of a layer holds as a number of its own."""
    for name in layer.soft:
        for word in ("sliding_window", "window_size", "attention_chunk_size"):
            width = getattr(named[name], word, None)
            if isinstance(width, int) and not isinstance(width, bool) and width > 0:
                return width
    return None


def innermost(layer: Layer) -> str:
    """Return the class in which the softmax of a layer ran."""
    return layer.mixers[max((name for name in layer.soft if name in layer.mixers), key=len)]


def of_cache(watch: Watch, caches: list[Any]) -> tuple[list[dict] | None, dict[int, int], int]:
    """Return what a cache holds, its windows by layer, and how many layers use another's.

    What is held for n tokens is the sum, over the entries, of layers · (bytes · n + within · min(n, window) +
    state), at two bytes a number.
    """
    small, large = caches[0], caches[-1]
    if small is None:
        return None, {}, 0
    step = SIZES[1] - SIZES[0]
    if not hasattr(small, "layers"):
        a, b = held(small, set()), held(large, set())
        grow = (b - a) / step
        return [tidy(1, 2 * grow, None, 0, 2 * (a - grow * SIZES[0]))], {}, 0
    entries, windows, shared = collections.Counter(), {}, 0
    for at, (one, two) in enumerate(zip(small.layers, large.layers, strict=True)):
        name, window, both, other = entry(one)
        other_two = entry(two)[3]
        if "Dummy" in name or not (both or other):
            attends = at in watch.layers and watch.layers[at].softmax
            shared += bool(attends)
            continue
        kept = watch.stored.get(at)
        keys = sum(kept) if kept else both / SIZES[0]
        grow = (other_two - other) / step
        state = other - grow * SIZES[0]
        if window:
            windows[at] = window
        entries[(2 * (grow + (0 if window else keys)), window, 2 * keys if window else 0, 2 * state)] += 1
    for one, two in zip(loose(small), loose(large), strict=True):
        grow = (two.numel() - one.numel()) / step
        entries[(2 * grow, None, 0, 2 * (one.numel() - grow * SIZES[0]))] += 1
    return [tidy(count, *cost) for cost, count in entries.items()], windows, shared


def tidy(layers: int, grow: float, window: int | None, within: float, state: float) -> dict[str, Any]:
    """Return one kind of entry of a cache without what is zero."""
    short = lambda x: int(x) if x == int(x) else round(x, 3)  # noqa: E731
    out = {"layers": layers, "bytes": short(grow), "state": short(state)}
    out |= {"window": window, "within": short(within)} if window else {}
    return {key: value for key, value in out.items() if value or key == "layers"}


def one(values: Any) -> Any:
    """Return the only value, or all of them in order, or None."""
    values = sorted(set(values))
    return values[0] if len(values) == 1 else values or None


def shapes(attends: list[Layer], text: Any, unknown: list[str]) -> dict[str, Any]:
    """Return heads, heads of keys and values, widths, and the latent: what is kept where more is read."""
    if not attends:
        return {}
    calls = [call for layer in attends for call in layer.calls]
    if calls:
        out = {
            "heads": one(call["q"][1] for call in calls),
            "kv_heads": one(call["k"][1] for call in calls),
            "head": one(call["k"][-1] for call in calls),
            "value": one(call["v"][-1] for call in calls),
        }
        config = getattr(text, "num_key_value_heads", None)
        if not any(layer.stored for layer in attends) and isinstance(
            config, int
        ):  # its own cache repeats them
            out["kv_heads"] = config
        if all(call["tied"] for call in calls):
            out["keys are values"] = True
    else:
        n = SIZES[0]
        seen = [s for layer in attends for s in layer.softmax if s[-1] >= n]
        out = {"heads": one(s[1] if len(s) == 4 else s[0] for s in seen)}
        kept = [layer.keys for layer in attends if layer.keys]
        out["kv_heads"] = one(key[1] for key in kept)
        out["head"] = out["value"] = one(key[-1] for key in kept)
        count = number(text, "num_attention_heads", "n_head", "n_heads", "decoder_attention_heads")
        out["heads"] = count if isinstance(out["heads"], list) and count in out["heads"] else out["heads"]
        width = number(text, "hidden_size", "n_embd", "emb_dim", "d_model")
        if not kept and count == out["heads"] and width and not any("key_value" in n for n in vars(text)):
            out |= {"kv_heads": count, "head": width // count}
    out = {key: value for key, value in out.items() if value is not None}
    unknown += [key for key in ("heads", "kv_heads", "head") if key not in out]
    if out.get("value") == out.get("head"):
        out.pop("value", None)
    small = [
        sum(layer.stored) // layer.times
        for layer in attends
        if layer.stored
        and layer.calls
        and not layer.calls[0]["tied"]
        and len(layer.calls) == layer.times
        and 2 * sum(layer.stored) < sum(c["k"][1] * (c["k"][-1] + c["v"][-1]) for c in layer.calls)
    ]
    if small:
        out["latent"] = one(small)
    return out


def positions(model: nn.Module, watch: Watch, attends: list[Layer], text: Any) -> dict[str, Any]:
    """Return how the model knows places: by what ran, and by what stands beside the layers."""
    out: dict[str, Any] = {}
    turned = sum(layer.turned for layer in attends)
    if turned:
        out["rotary"] = turned
        bases, kinds, parts = set(), set(), set()
        stack = [getattr(text, "rope_parameters", None), {"rope_theta": getattr(text, "rope_theta", None)}]
        while stack:
            given = stack.pop()
            if isinstance(given, dict):
                bases |= {given["rope_theta"]} if isinstance(given.get("rope_theta"), int | float) else set()
                kinds |= {given["rope_type"]} - {"default"} if given.get("rope_type") else set()
                parts |= {given["partial_rotary_factor"]} if given.get("partial_rotary_factor") else set()
                stack += [part for part in given.values() if isinstance(part, dict)]
        out["base"] = one(float(base) for base in bases) or "unknown"
        if kinds:
            out["stretched"] = one(kinds)
        if parts - {1}:
            out["part"] = one(parts)
    if attends and turned < len(attends):
        bare = len(attends) - turned
        mixers = [model.get_submodule(name) for layer in attends for name in layer.soft]
        out["ALiBi" if watch.alibi else beside(model, mixers)] = bare
    return out


def beside(model: nn.Module, mixers: list[nn.Module]) -> str:
    """Return what stands beside the layers, or in them, and tells places without turning anything."""
    all_of_them = list(model.named_modules())
    own = [name for part in mixers for name, _ in (*part.named_parameters(), *part.named_modules())]
    if any(re.search(r"(^|[._])rel|r_r_bias|position_bias", name) for name in own) or any(
        re.search("position_bias|relative", name + type(part).__name__, re.I) for name, part in all_of_them
    ):
        return "relative"
    if any("inusoid" in type(part).__name__ or hasattr(part, "pos_encoding") for _, part in all_of_them):
        return "sinusoidal"
    tables = [(name, part) for name, part in all_of_them if isinstance(part, nn.Embedding)]
    if any(re.search(r"posit|wpe|pos_emb", name + type(part).__name__, re.I) for name, part in tables):
        return "learned"
    return "none"


def placed(layers: list[Layer]) -> str:
    """Return where the norms stand: pre, post, output (on a branch, before the sum), or sandwich (both).

    What the branch is added to is not looked at: in MiniMax's layers, which are pre, it is the normed input.
    """
    order = next((layer.order for layer in layers if any(what == "M" for what, *_ in layer.order)), None)
    if order is None or all(what != "N" for what, *_ in order):
        return "unknown"
    every, order = order, [step for step in order if step[0] != "-"]
    before, after, last = order[0][0] == "N", order[-1][0] == "N", order[-1][1]
    if before:
        return "sandwich" if after else "pre"
    if not after:
        return "unknown"
    branch = any(last is out for _, _, out in every)
    return "output" if branch else "post"


def tamed(model: nn.Module, attends: list[Layer], text: Any) -> dict[str, Any]:
    """Return what else was done to scores and to what comes out."""
    out: dict[str, Any] = {}
    parts = {name for layer in attends for name in layer.soft}
    owned = {name for part in parts for name, _ in model.get_submodule(part).named_parameters()}
    asks = lambda name: ASKS.search(name) and not re.search("index|compress", name)  # noqa: E731
    asked = sum(any(map(asks, layer.normed)) for layer in attends)
    if asked:
        out["QK-norm"] = asked
    ops = {(inner, op) for layer in attends for name, inner, op in layer.ops if name in layer.soft}
    own = {op for inner, op in ops if mixes(inner)}
    if "tanh" in own:
        caps = [getattr(text, name) for name in vars(text) if re.search(r"att\w*cap", name)]
        out["cap"] = next((cap for cap in caps if isinstance(cap, int | float)), "unknown")
    gates = one({gate for layer in attends for gate in layer.gates})
    if gates:
        out["gate"] = gates
    sinks = sum(any(s[-1] == c["k"][2] + 1 for s in layer.softmax for c in layer.calls) for layer in attends)
    if sinks or any(re.search(r"(^|\.)sinks?$", name) for name in owned):
        out["sinks"] = sinks or len(attends)
    named = dict(model.named_modules())
    if any(selects(layer, named) for layer in attends):
        keys = [name for name in vars(text) if re.search(r"index\w*(topk|budget)", name)]
        out["selection"] = {name: getattr(text, name) for name in sorted(keys)}
        out["selection"]["layers"] = sum(selects(layer, named) for layer in attends)
    if any(re.search(r"(^|\.)lambda_", name) for name in owned):
        out["differential"] = True
    names = {type(part).__name__ for part in model.modules()}
    if any("HyperConnection" in name for name in names):
        out["residual"] = "hyper-connections"
    if any("AttentionResidual" in name for name in names):
        out["residual"] = "attention over depth"
    return out


def of_classes(found: Found, model: nn.Module | None = None) -> dict[str, Any]:
    """Say what configuration and source tell where a model could not be run; the rest is unknown."""
    text = found.text
    file = sys.modules[found.maker.__module__]
    kinds = {name: thing for name, thing in vars(file).items() if inspect.isclass(thing) and mixes(name)}
    kinds = {name: thing for name, thing in kinds.items() if not re.search("Vision|Audio|Cross", name)}
    own = {name: thing for name, thing in kinds.items() if thing.__module__ == file.__name__}
    if model is not None:
        own = {n: t for n, t in own.items() if any(type(part) is t for part in model.modules())}
    code = "\n".join(map(source, own.values()))
    count = number(text, "num_hidden_layers", "n_layer", "n_layers", "num_layers", "decoder_layers")
    out: dict[str, Any] = {"layers": count, "attention": sorted(own)}
    said = words(text, count) if count else None
    out["strip"] = said or "unknown"
    out["heads"] = number(text, "num_attention_heads", "n_head", "n_heads")
    out["kv_heads"] = number(text, "num_key_value_heads")
    out["head"] = number(text, "head_dim", "attention_head_size")
    sees = {
        "QK-norm": r"self\.(q_norm|k_norm|q_layernorm|qk_norm|query_layernorm)\b",
        "sinks": r"self\.sinks\b",
        "latent": r"kv_lora_rank",
        "gate": r"\* torch\.sigmoid|sigmoid\(\w*gate",
        "cap": r"softcap",
    }
    for name, sign in sees.items():
        if re.search(sign, code):
            out[name] = "by its source"
    if re.search(r"apply_rotary|rotary_emb", code):
        out["positions"] = {"rotary": "by its source"}
    elif model is not None:
        found_beside = beside(model, [part for part in model.modules() if type(part) in own.values()])
        out["positions"] = {found_beside: "by its modules"}
    plain = all("Attention" in name and not re.search("Delta|Linear|Mamba", name) for name in own)
    narrow = any(re.search("window|chunk_length", name) for name in vars(text))
    if said is None and count and plain and not narrow:
        out["strip"] = "F" * count
    unknown = [key for key in ("heads", "kv_heads", "head") if out[key] is None] + ["cache", "norms"]
    out = {key: value for key, value in out.items() if value is not None}
    return out | {"unknown": unknown + ([] if "positions" in out else ["positions"])}


def fields(found: list[Found]) -> dict[str, int]:
    """Return in how many configurations each field stands; what every one has is left out."""
    count = collections.Counter()
    common = set(transformers.PretrainedConfig().to_dict())
    for model in found:
        if model.text is not None:
            count.update(set(model.text.to_dict()) - common)
    return {name: count[name] for name in sorted(count) if not name.startswith("_")}


def main() -> None:
    """Read all models, and store what was found."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--only", nargs="*", default=[], help="models to print; nothing is stored")
    parser.add_argument("--check", action="store_true", help="compare with what is stored")
    parser.add_argument("--checkpoints", action="store_true", help="read checkpoints.json, and store it")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    torch.set_num_threads(1)
    if not given.only and not given.check:
        results.begin()
    if given.checkpoints:
        numbers = {"release": transformers.__version__, "models": checkpoints()}
        command = f"{COMMAND} --checkpoints"
        results.store("census-checkpoints", numbers, command=command, packages=("transformers",))
        return
    found, rows = list(models(given.only)), []
    for model in found:
        rows.append(row(model))
        print(json.dumps(rows[-1]), flush=True)
    if given.only:
        return
    numbers = {
        "release": transformers.__version__,
        "names": len(modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES),
        "fields": fields(list(models([]))),
        "models": rows,
    }
    if given.check:
        old = results.load("census")
        same = all(json.dumps(old[key]) == json.dumps(numbers[key]) for key in numbers)
        print("the same" if same else "not the same")
        sys.exit(not same)
    results.store("census", numbers, command=COMMAND, packages=("transformers",))


if __name__ == "__main__":
    main()
