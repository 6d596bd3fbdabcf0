"""What attention costs: what is kept, how far a signal travels, and what moves between two memories."""

from __future__ import annotations

import torch
from matplotlib.figure import Figure

from attnbook.drawings.pen import FAINT, Pen
from attnlab import KVCache

PASSES = (("I", "saw"), ("a",), ("saw",), ("too",))


def cache() -> Figure:
    """Draw a key-value cache that grows: a prompt is read at once, then each step adds a word and asks once.

    Returns:
        The figure, labelled with its alt text.

    >>> "4 keys" in cache().get_label()
    True
    """
    words = [word for part in PASSES for word in part]
    kept = KVCache(batch=1, n_kv_heads=1, capacity=len(words), d_head=1)
    pen = Pen(4.3, 4.35)
    first, size, high, said = 1.5, (0.43, 0.28), 1.08, []
    for step, part in enumerate(PASSES):
        n, before = len(part), kept.length
        kept.append(*torch.zeros(2, 1, 1, n, 1))
        top, kind = 0.42 + step * high, "decode" if step else "prefill"
        counts = f"{_count(n, 'query', 'queries')}, {_count(kept.length, 'key')}" + f", {before} kept" * bool(
            before
        )
        said.append(f"{kind} reads {' '.join(part)}: {counts}")
        pen.text(0.06, top - 0.22, kind, align="left")
        pen.text(first, top - 0.22, counts, align="left", size=10)
        shades = [[0.8 if slot >= before else 0.2 for slot in range(kept.length)]]
        ask = first - 0.33
        pen.tiles(ask - n * size[0], top, 1, n, size=size, role="query", texts=[part])
        pen.arrow((ask + 0.05, top + 0.14), (first - 0.05, top + 0.14), role="query")
        for role, y in (("key", top), ("value", top + size[1])):
            texts = [words[: kept.length]] if role == "key" else None
            pen.tiles(first, y, 1, kept.length, size=size, role=role, texts=texts, shades=shades)
            if kept.length < kept.capacity:
                empty = (kept.capacity - kept.length) * size[0]
                pen.frame(
                    first + kept.length * size[0], y, empty, size[1], dashed=True, alpha=FAINT, line=0.8
                )
            pen.text(
                first + kept.capacity * size[0] + 0.1, y + 0.14, f"{role}s", role=role, align="left", size=10
            )
    return pen.figure_of(
        f"A key-value cache that grows: {'; '.join(said)}. The keys and values of earlier words are kept, "
        "those of the words just read are added, and only the new words ask."
    )


def _count(n: int, one: str, more: str | None = None) -> str:
    return f"{n} {one if n == 1 else more or one + 's'}"
