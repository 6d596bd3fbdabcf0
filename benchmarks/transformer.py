"""A Transformer with and without its parts, and how many lookups in a row its layers can do.

    python benchmarks/transformer.py [NAME ...]

Each NAME writes results/transformer-NAME.json:
depth, network, clipped, layers, longer, hops, bare, faster, slower.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import torch

from attnbook import benchmark, results
from attnbook.experiments import Comparison, Row, Run, Text, around, sweep
from attnbook.experiments.depth import NextWords, toy_text
from attnbook.experiments.hops import Hops
from attnbook.experiments.settings import settings_of
from attnbook.experiments.sweeps import choose_rate
from attnbook.tagging import grammar

ROOT = Path(__file__).parents[1]
CACHE = ROOT / ".cache/runs"
COMMAND = "python benchmarks/transformer.py"
SEEDS = range(3)
ROWS = {
    "pre-norm": {},
    "post-norm": {"norm_first": False},
    "no norm": {"part": "norm"},
    "no norm, not even the last": {"part": "every norm"},
    "no residual": {"part": "residual"},
}
DRAWS = {"small": False, "Xavier": True}


@cache
def text() -> Text:
    """Return the sentences of the toy grammar with their probabilities."""
    return toy_text(grammar.sentences())


def depth() -> None:
    """Leave out a part of twelve layers, whose first weights are drawn in two ways."""
    leave_out("transformer-depth", ROWS)


def network() -> None:
    """Leave out the feed-forward networks of the same twelve layers."""
    leave_out("transformer-network", {"no network": {"part": "feed-forward"}})


def clipped() -> None:
    """Shorten long gradients of the stacks that have no norm at all."""
    leave_out("transformer-clipped", {"no norm, clipped": {"part": "every norm", "clip": 1.0}})


def layers() -> None:
    """Add layers to a stack without residual connections."""
    some = {1: "one layer", 2: "two layers", 4: "four layers"}
    rows = {name: {"part": "residual", "n_layers": n} for n, name in some.items()}
    leave_out("transformer-layers", rows, at=8e-3, may_end_at_edge=True)


def longer() -> None:
    """Give the two places of the norm three times the steps, begun with small weights."""
    rows = {name: ROWS[name] | {"steps": 450} for name in ("pre-norm", "post-norm")}
    leave_out("transformer-longer", rows, at=4e-3, draws=("small",))


def leave_out(
    topic: str,
    rows: dict[str, dict],
    at: float = 2e-3,
    may_end_at_edge: bool = False,
    draws: Sequence[str] = tuple(DRAWS),
) -> None:
    """Train the stacks of `rows`, each with both draws of first weights or one, and store what they reach."""
    made = {
        f"{name}, {draw}": NextWords(text(), **{"n_layers": 12, "warm": 30, "xavier": DRAWS[draw], **kind})
        for name, kind in rows.items()
        for draw in draws
    }
    found = sweep(
        made,
        rates=around(at, n=3),
        seeds=SEEDS,
        scout=1,
        goal="low",
        flat=0.01,
        may_end_at_edge=[name for name in made if may_end_at_edge or name.startswith("no ")],
        measure="nats above the floor",
        cache=CACHE / f"{topic}.json",
        progress=False,
    )
    print(found.as_table(digits=3), flush=True)
    results.store(topic, {"sweeps": {"parts": found}}, command=COMMAND, seeds=SEEDS)


def hops() -> None:
    """Follow a ring for one to four hops, with one to four layers; and one layer with the numbers of four."""
    made = {f"{n} layer{'s' * (n > 1)}": Hops(n) for n in range(1, 5)}
    made[wide := "1 layer, twice as wide"] = Hops(1, d_model=128)
    follow("transformer-hops", made, control=wide)


def bare() -> None:
    """Take the residual connections out of the four layers, and try smaller rates as well."""
    made = {"4 layers, no residual": Hops(4, part="residual")}
    follow("transformer-bare", made, rates=(5e-4, 1e-3, 2e-3, 4e-3))


def faster() -> None:
    """Give one layer and two larger rates as well."""
    made = {"1 layer": Hops(1), "2 layers": Hops(2)}
    follow("transformer-faster", made, rates=around(8e-3, n=3))


def slower() -> None:
    """Give two layers three times the steps."""
    made = {"2 layers, 3,000 steps": Hops(2, steps=3000)}
    follow("transformer-slower", made, rates=around(4e-3, n=3))


def follow(
    topic: str, made: dict[str, Hops], *, rates: Sequence[float] = (2e-3, 4e-3), control: str = ""
) -> None:
    """Train the stacks on rings and store what they reach.

    Seed 0 chooses among the rates, and every finished run is kept.
    """
    kept, rows = CACHE / f"{topic}.json", {}
    known = json.loads(kept.read_text())["runs"] if kept.exists() else {}

    def train(name: str, rate: float, seed: int) -> Run:
        if (key := f"{name} | rate {rate:g} | seed {seed}") not in known:
            known[key] = made[name](rate, seed).as_dict(level=None, goal="high")
            benchmark.store(kept, {"runs": known})
        return Run.from_dict(known[key])

    for name in made:
        tried = {rate: [train(name, rate, 0)] for rate in rates}
        best = choose_rate(tried, goal="high", level=None, choose="end")
        tried[best] += [train(name, best, seed) for seed in SEEDS[1:]]
        given = settings_of(made[name])
        edge = best in (min(rates), max(rates))
        rows[name] = Row(name, best, tried, control=name == control, edge=edge, settings=given)
    how = f"the {'better one' if len(rates) == 2 else 'best'} for the first seed"
    found = Comparison(rows, measure="right answers", how=how, goal="high")
    print(found.as_table(), flush=True)
    numbers = {"by guessing": 1 / (Hops(1).names - 1), "sweeps": {"hops": found}}
    results.store(topic, numbers, command=COMMAND, seeds=SEEDS)


if __name__ == "__main__":
    torch.set_num_threads(1)
    results.begin()
    parts = (depth, network, clipped, layers, longer, hops, bare, faster, slower)
    made = {part.__name__: part for part in parts}
    for name in sys.argv[1:] or made:
        made[name]()
