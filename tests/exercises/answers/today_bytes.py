"""What a cache takes: windows, blocks, latents, states, and layers that borrow."""

from fractions import Fraction

import torch

from answers import right, wrong
from attnlab.cache import kv_cache_bytes


def keys(layer, n):
    if not {"window", "pool"} & set(layer):
        return n
    return min(n, layer.get("window", 0)) + n // layer.get("pool", n + 1)


def numbers(layer, n, keys=keys):
    """Of one layer; `keys` says how many keys it has."""
    if "state" in layer:
        return layer["state"]
    if layer.get("borrows", False):
        return 0
    return layer["heads"] * (layer["d_k"] + layer["d_v"]) * keys(layer, n)


def cache(count=numbers, size=lambda each: each):
    return lambda layers, n, bytes_per_number=2: sum(count(one, n) for one in layers) * size(bytes_per_number)


def kept(keys):
    return cache(lambda layer, n: numbers(layer, n, keys))


right(cache(), "a sum")
right(lambda layers, n, size=2: torch.tensor([numbers(one, n) * size for one in layers]).sum(), "a tensor")
right(lambda layers, n, size=2: Fraction(cache()(layers, n, size)), "a fraction")


@right
def token_by_token(layers, n, bytes_per_number=2):
    """Where the text is short: what is kept after each token."""
    if n > 10_000:
        return cache()(layers, n, bytes_per_number)
    total = 0
    for layer in layers:
        total += layer.get("state", 0)
        if "state" in layer or layer.get("borrows"):
            continue
        recent, blocks = 0, 0
        for t in range(1, n + 1):
            recent = min(recent + 1, layer.get("window", 0 if "pool" in layer else n))
            blocks += "pool" in layer and t % layer["pool"] == 0
        total += (recent + blocks) * layer["heads"] * (layer["d_k"] + layer["d_v"])
    return total * bytes_per_number


@right
def the_package(layers, n, bytes_per_number=2):
    total = 0
    for layer in layers:
        if "state" in layer:
            total += layer["state"] * bytes_per_number
        elif not layer.get("borrows"):
            parts = [n // layer["pool"]] if "pool" in layer else []
            parts += [min(n, layer["window"])] if "window" in layer else []
            for m in parts or [n]:
                total += kv_cache_bytes(
                    1, layer["heads"], layer["d_k"], m, d_v=layer["d_v"], bytes_per_number=bytes_per_number
                )
    return total


# Keys, values, heads.
wrong("Every key counts twice")(
    cache(lambda layer, n: numbers(layer | {"d_v": layer.get("d_k")}, n)), "twice the key"
)
wrong("The values are missing")(cache(lambda layer, n: numbers(layer | {"d_v": 0}, n)), "keys alone")
wrong("The heads are missing")(cache(lambda layer, n: numbers(layer | {"heads": 1}, n)), "one head")
wrong("should be")(
    cache(lambda layer, n: numbers(layer | {"d_v": layer.get("d_v") or layer.get("d_k")}, n)),
    "a value for a latent, too",
)
wrong("should be")(
    cache(
        lambda layer, n: (
            numbers(layer | {"d_k": 128, "d_v": 128}, n) if layer.get("d_v") else numbers(layer, n)
        )
    ),
    "the usual widths",
)

# Which layers.
wrong("A layer that borrows is counted")(
    cache(lambda layer, n: numbers(layer | {"borrows": False}, n)), "all layers"
)
wrong("it raised KeyError")(
    cache(lambda layer, n: 0 if layer["borrows"] else numbers(layer, n)),
    "every layer says whether it borrows",
)
wrong("should be")(
    cache(lambda layer, n: 0 if "borrows" in layer else numbers(layer, n)), "whoever has the word"
)
wrong("A state is counted for every token")(
    cache(lambda layer, n: layer["state"] * n if "state" in layer else numbers(layer, n)), "a state a token"
)
wrong("The states are missing")(
    cache(lambda layer, n: 0 if "state" in layer else numbers(layer, n)), "no states"
)
wrong("ones like the first")(
    lambda layers, n, size=2: numbers(layers[0], n) * size * len(layers), "the first times their number"
)
wrong("Only the first layer is counted")(
    lambda layers, n, size=2: next(numbers(one, n) * size for one in layers), "a return in the loop"
)

# How many keys.
wrong("The window is not used")(
    kept(lambda layer, n: n // layer["pool"] if "pool" in layer else n), "no windows"
)
wrong("A window counts as full")(
    kept(
        lambda layer, n: (
            keys(layer | {"window": 0}, n) + layer["window"] if "window" in layer else keys(layer, n)
        )
    ),
    "always full",
)
wrong("The blocks are not used")(kept(lambda layer, n: min(n, layer.get("window", n))), "no blocks")
wrong("A block that is not full counts")(
    kept(lambda layer, n: keys(layer, n) + ("pool" in layer and n % layer["pool"] > 0)), "rounded up"
)
wrong("n / pool is no whole number")(
    kept(lambda layer, n: keys(layer, n) + (n / layer["pool"] % 1 if "pool" in layer else 0)),
    "parts of blocks",
)
wrong("only the blocks count")(
    kept(lambda layer, n: n // layer["pool"] if "pool" in layer else keys(layer, n)), "blocks before windows"
)
wrong("only the window counts")(
    kept(lambda layer, n: min(n, layer["window"]) if "window" in layer else keys(layer, n)),
    "windows before blocks",
)
wrong("only the tokens in the window are pooled")(
    kept(lambda layer, n: min(n, layer.get("window") or n) // layer.get("pool", 1)), "the window pooled"
)
wrong("should be")(
    kept(lambda layer, n: min(n // layer.get("pool", 1), layer.get("window") or n)), "a window of blocks"
)
wrong("should be")(
    kept(lambda layer, n: n if "window" not in layer and "pool" not in layer else keys(layer, n - 1)),
    "one token fewer",
)

# Bytes.
wrong("Those are numbers")(cache(size=lambda each: 1), "numbers")
wrong("A number takes 2 bytes whatever is asked")(cache(size=lambda each: 2), "always 2")
wrong("Those are bits")(cache(size=lambda each: each * 8), "bits")
wrong("should be")(lambda *given: cache()(*given) / 1024, "kibibytes")
wrong("should be")(lambda layers, n, size=2: cache()(layers, n, size) // max(n, 1), "bytes a token")
