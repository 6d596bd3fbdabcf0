"""An exercise on attention in today's models: the bytes of a cache whose layers differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from attnbook.checks.exercise import case, exercise, late, mistake
from attnbook.checks.values import Tolerance

Layer = Mapping[str, int]


def _entries(layer: Layer, n: int) -> int:
    """How many keys a layer keeps of n tokens."""
    window, pool = layer.get("window"), layer.get("pool")
    if window is None and pool is None:
        return n
    return min(n, window or 0) + (n // pool if pool else 0)


def _count(
    entries: Callable[[Layer, int], float] = _entries,
    width: Callable[[Layer], int] = lambda layer: layer["d_k"] + layer["d_v"],
    heads: Callable[[Layer], int] = lambda layer: layer["heads"],
    state: Callable[[Layer, int], int] = lambda layer, n: layer["state"],
    borrowed: bool = False,
    size: Callable[[int], float] = lambda bytes_per_number: bytes_per_number,
) -> Callable:
    """Count, with one thing wrong."""

    def answer(layers: Sequence[Layer], n: int, bytes_per_number: int = 2) -> float:
        total = 0
        for layer in layers:
            if "state" in layer:
                total += state(layer, n)
            elif borrowed or not layer.get("borrows"):
                total += heads(layer) * width(layer) * entries(layer, n)
        return total * size(bytes_per_number)

    return answer


def cache_bytes(layers: Sequence[Layer], n: int, bytes_per_number: int = 2) -> int:
    """The reference."""
    return _count()(layers, n, bytes_per_number)


def _ceil(layer: Layer, n: int) -> int:
    pool = layer.get("pool")
    return _entries(layer, n) + (bool(n % pool) if pool else 0)


def _only(*names: str) -> Callable[[Layer, int], int]:
    """As if a layer had none of the other entries, if it has one of these."""
    return lambda layer, n: _entries({name: layer[name] for name in names if name in layer} or layer, n)


def _without(name: str) -> Callable[[Layer, int], int]:
    return lambda layer, n: _entries({key: value for key, value in layer.items() if key != name}, n)


def _pooled_window(layer: Layer, n: int) -> int:
    return min(n, layer.get("window", n)) // layer.get("pool", 1)


def _always_full(layer: Layer, n: int) -> int:
    return (
        _entries(layer, max(n, layer.get("window", 0)))
        if "pool" not in layer
        else layer.get("window", 0) + n // layer["pool"]
    )


PLAIN = {"heads": 8, "d_k": 128, "d_v": 128}
LATENT = {"heads": 1, "d_k": 576, "d_v": 0}
WIDE = {"heads": 1, "d_k": 512, "d_v": 0, "window": 128}
MIXED = [
    {"heads": 4, "d_k": 8, "d_v": 6},
    {"heads": 3, "d_k": 10, "d_v": 10, "window": 16},
    {"heads": 1, "d_k": 20, "d_v": 0, "pool": 4},
    {"state": 96},
    {"heads": 2, "d_k": 12, "d_v": 5, "borrows": True},
]

exercise(
    "today-bytes",
    "cache_bytes",
    reference=cache_bytes,
    cases=[
        case("", layers=[{"heads": 2, "d_k": 4, "d_v": 3}], n=10),
        case("32 layers of 8 key-value heads", "It is a gibibyte.", layers=[PLAIN] * 32, n=8192),
        case("61 layers of latents, one token", "A latent is key and value at once: d_v is 0.", layers=[LATENT] * 61, n=1),
        case("a window of 16 and 10 tokens", "It is not full yet.", layers=[MIXED[1]], n=10),
        case("a window of 16 and 100 tokens", "It keeps the last 16.", layers=[MIXED[1]], n=100),
        case("blocks of 4 and 11 tokens", "Two blocks are full.", layers=[MIXED[2]], n=11),
        case("blocks of 4 and 3 tokens", "None is full.", layers=[MIXED[2]], n=3),
        case("a window of 6 beside blocks of 4, 27 tokens", "Both are kept.", layers=[{"heads": 1, "d_k": 5, "d_v": 0, "window": 6, "pool": 4}], n=27),
        case("a state, 50 tokens", "It has one size, whatever it has read.", layers=[{"state": 4096}], n=50),
        case("a layer that reads another's cache", "It keeps nothing of its own.", layers=[MIXED[0], MIXED[0] | {"borrows": True}], n=7),
        case("the same layers, and none borrows", layers=[MIXED[0], MIXED[0] | {"borrows": False}], n=7),
        case("five layers of five kinds, 37 tokens", layers=MIXED, n=37),
        case("the five in another order, 4 bytes a number", layers=MIXED[::-1], n=30, bytes_per_number=4),
        case("the five, one byte a number", layers=MIXED, n=64, bytes_per_number=1),
        case("no token yet", "Only states take room.", layers=MIXED, n=0),
        case("three states before one layer of attention, twelve times", layers=([{"state": 32 * 128 * 128}] * 3 + [{"heads": 2, "d_k": 256, "d_v": 256}]) * 12, n=1000),
        case("windows beside blocks of 4 and 128, and keys of indexers listed as layers", layers=[WIDE | {"pool": 128}] * 23 + [WIDE | {"pool": 4}, {"heads": 1, "d_k": 128, "d_v": 0, "pool": 4}] * 20, n=2**20),
        *late(case("other layers of five kinds, 37 tokens", layers=[{key: value + 1 if value is not True else value for key, value in layer.items()} for layer in MIXED], n=37)),
    ],
    within=Tolerance(0.0, 0.0),
    mistakes=[
        mistake("Every key counts twice, as if its value were as wide. A head keeps d_k + d_v numbers of a token.", _count(width=lambda layer: 2 * layer["d_k"])),
        mistake("The values are missing: d_k + d_v numbers for each head.", _count(width=lambda layer: layer["d_k"])),
        mistake("The heads are missing: each keeps keys and values of its own.", _count(heads=lambda layer: 1)),
        mistake("A layer that borrows is counted. It reads another's cache and has none.", _count(borrowed=True)),
        mistake("The window is not used: no more than the last `window` tokens are kept.", _count(_without("window"))),
        mistake("A window counts as full from the first token on. It holds n tokens until then.", _count(_always_full)),
        mistake("The blocks are not used: one entry is kept for `pool` tokens.", _count(_without("pool"))),
        mistake("A block that is not full counts. Only full ones have an entry.", _count(_ceil)),
        mistake("n / pool is no whole number where a block is not full yet. Only full ones have an entry: n // pool.",
                _count(lambda layer, n: min(n, layer.get("window", 0)) + n / layer["pool"] if "pool" in layer else _entries(layer, n))),
        mistake("Where a layer has a window and blocks, only the blocks count. Both are kept, side by side.", _count(_only("pool"))),
        mistake("Where a layer has a window and blocks, only the window counts. Both are kept, side by side.", _count(_only("window"))),
        mistake("Where a layer has a window and blocks, only the tokens in the window are pooled. The blocks cover the whole text, and the window is kept beside them.", _count(_pooled_window)),
        mistake("A state is counted for every token. It has one size, whatever it has read.", _count(state=lambda layer, n: n * layer["state"])),
        mistake("The states are missing. They have to be kept, too.", _count(state=lambda layer, n: 0)),
        mistake("Those are numbers. Each takes bytes_per_number bytes.", _count(size=lambda bytes_per_number: 1)),
        mistake("A number takes 2 bytes whatever is asked. Use bytes_per_number.", _count(size=lambda bytes_per_number: 2)),
        mistake("Those are bits. A number takes bytes_per_number bytes.", _count(size=lambda bytes_per_number: 8 * bytes_per_number)),
        mistake("All layers are taken for ones like the first.", lambda layers, n, bytes_per_number=2: len(layers) * cache_bytes(layers[:1], n, bytes_per_number)),
        mistake("Only the first layer is counted.", lambda layers, n, bytes_per_number=2: cache_bytes(layers[:1], n, bytes_per_number)),
    ],
    praise="Windows, blocks, latents, states and borrowed caches, each layer by what it keeps.",
)  # fmt: skip
