"""A control of positions.py: RoPE on letters, at other speeds.

    python benchmarks/positions_speeds.py

Writes results/positions-speeds.json: the task, the layer and the sweep of *letters* in positions.py, with
heads of width 8 and another base, and with the same base and heads of another width. Two seeds try each
rate; ten train at the best. Each trained model is read twice, with all keys and with far ones hidden.
"""

from __future__ import annotations

import torch
from positions import KEPT, LEVEL, SCOUT, both_ways

from attnbook import results
from attnbook.experiments import around, letters, sweep

SEEDS = range(10)
ROWS = {
    "width 8, base 10,000": {"n_heads": 4},
    "width 8, base 1,000": {"n_heads": 4, "base": 1000.0},
    "width 8, base 100": {"n_heads": 4, "base": 100.0},
    "width 16, base 10,000": {"n_heads": 2},
    "width 32, base 10,000": {"n_heads": 1},
}


def main() -> None:
    """Train, and store."""
    torch.set_num_threads(1)
    results.begin()
    found = sweep(
        {name: letters.letter_before("RoPE", **given) for name, given in ROWS.items()},
        rates=around(0.01, n=3),
        seeds=SEEDS,
        scout=SCOUT,
        level=LEVEL,
        tie=0.005,
        measure="right at 16",
        cache=KEPT / "positions-speeds.json",
    )
    lengths = [str(n) for n in letters.LENGTHS]
    sweeps = both_ways("letters", found, lengths)
    for title, part in sweeps.items():
        print(title, {name: row.extra(lengths[-1]) for name, row in part.rows.items()})
    command = "python benchmarks/positions_speeds.py"
    results.store("positions-speeds", {"sweeps": sweeps}, command=command, seeds=SEEDS)


if __name__ == "__main__":
    main()
