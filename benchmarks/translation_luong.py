"""The task of translation.py once more, for the decoder that moves before it looks.

    python benchmarks/translation_luong.py

Writes results/translation-luong.json. Texts, sizes, steps, seeds and rates are those of translation.py.
"""

from __future__ import annotations

import torch
from translation import CACHE, MIDDLE, SEEDS, SIZE, candidate

from attnbook import results
from attnbook.experiments import around, sweep


def main() -> None:
    """Train and store."""
    torch.set_num_threads(1)
    results.begin()
    found = sweep(
        {"Luong, general": candidate("general", SIZE, 1)},
        seeds=SEEDS,
        scout=1,
        cache=CACHE / "translation-luong.json",
        rates=around(MIDDLE, n=3),
        level=0.95,
        tie=0.01,
        measure="dates right",
        progress=False,
    )
    print(found.as_table(), flush=True)
    numbers = {"sweeps": {"by the number of dates": found}}
    results.store("translation-luong", numbers, command="python benchmarks/translation_luong.py", seeds=SEEDS)


if __name__ == "__main__":
    main()
