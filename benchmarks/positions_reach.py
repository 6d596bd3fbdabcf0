"""A control of positions.py: a relative bias with numbers for distances that no training has shown.

    python benchmarks/positions_reach.py

Writes results/positions-reach.json: the streams, the tagger and the sweep of positions.py, where training
shows distances up to 23 and the bias has numbers up to 40. Each tagger is read with all keys and with far
ones hidden.
"""

from __future__ import annotations

from functools import partial

import torch
from positions import SEEDS, TIMES, both_ways, stretch, tag_streams, words_sweep

from attnbook import results

REACH = 40


def main() -> None:
    """Train, and store."""
    torch.set_num_threads(1)
    results.begin()
    tagger = {f"relative bias, reach {REACH}": partial(tag_streams, "relative", reach=REACH)}
    found = words_sweep(tagger, SEEDS, "positions-reach", reach=REACH)
    stretches = [stretch(at) for at in range(TIMES)]
    sweeps = both_ways("streams", found, stretches)
    for title, part in sweeps.items():
        print(title, {name: row.extra(stretches[-1]) for name, row in part.rows.items()})
    command = "python benchmarks/positions_reach.py"
    results.store("positions-reach", {"sweeps": sweeps}, command=command, seeds=SEEDS)


if __name__ == "__main__":
    main()
