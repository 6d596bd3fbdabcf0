"""Train taggers where a tag hangs on a word far away; write benchmarks/results/distance.json.

    python benchmarks/distance.py

Rows differ in what lets the words hear one another and in nothing else, but for the last: the LSTM once more,
with four times the epochs.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import torch

from attnbook import results
from attnbook.experiments import around, sweep
from attnbook.tagging.distance import Distance

KEPT = Path(__file__).parents[1] / "_build/runs/distance.json"
SEEDS = (0, 1, 2)
UNSTEADY = "LSTM, both ways"
ROWS = {
    "window of three": Distance({"context": "window"}),
    "two windows of three": Distance({"context": "window", "n_layers": 2}),
    UNSTEADY: Distance({"context": "recurrent"}),
    "average": Distance({"context": "mean"}),
    "attention": Distance({"context": "attention"}),
    "LSTM, both ways, four times the epochs": Distance({"context": "recurrent"}, epochs=24),
}
BLIND = ("window of three", "two windows of three")
"""They guess at every rate, so none of their rates is best."""


def main() -> None:
    """Train what is missing and store everything."""
    torch.set_num_threads(1)
    results.begin()
    common = {
        "rates": around(8e-3, n=3),
        "seeds": SEEDS,
        "measure": "right on *have*, %",
        "flat": 0.2,
        "cache": KEPT,
    }
    found = sweep(ROWS, scout=1, may_end_at_edge=BLIND, **common)
    # Where seeds differ so much, one alone can't find the rate: all of them try every rate.
    unsteady = sweep({UNSTEADY: ROWS[UNSTEADY]}, **common)
    found = replace(found, rows=found.rows | unsteady.rows)
    shown = {name: name for name in ("3 words away", "11 words away", "19 words away", "27 words away")}
    numbers = {"sweeps": {"distance": found.pick(shown)}}
    results.store("distance", numbers, command="python benchmarks/distance.py", seeds=SEEDS)


if __name__ == "__main__":
    main()
