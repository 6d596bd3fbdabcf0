"""The task of translation.py once more, for the decoder that moves before it looks.

    python benchmarks/translation_luong.py

Writes results/translation-luong.json. Texts, sizes, steps, seeds and rates are those of translation.py.
"""

from __future__ import annotations

import torch
from translation import SEEDS, SIZE, train

from attnbook import results


def main() -> None:
    """Train and store."""
    torch.set_num_threads(1)
    results.begin()
    found = train("translation-luong", {"Luong, general": ("general", SIZE, 1)})
    numbers = {"sweeps": {"by the number of dates": found}}
    results.store("translation-luong", numbers, command="python benchmarks/translation_luong.py", seeds=SEEDS)


if __name__ == "__main__":
    main()
