"""A Transformer with and without its parts, and a language model of letters.

    python benchmarks/transformer.py [depth] [warm] [hops] [text]

Writes results/transformer-depth.json, -warm, -hops and -text.
"""

from __future__ import annotations

import json
import sys
from functools import cache
from pathlib import Path

import torch

from attnbook import benchmark, results
from attnbook.experiments import Comparison, Row, Run, Text, around, sweep
from attnbook.experiments.book_text import Letters, NextLetter, counting, prose
from attnbook.experiments.depth import NextWords, toy_text
from attnbook.experiments.hops import Hops
from attnbook.experiments.settings import settings_of
from attnbook.experiments.sweeps import choose_rate
from attnbook.tagging import grammar
from attnlab.transformer import LanguageModel

ROOT = Path(__file__).parents[1]
CACHE = ROOT / ".cache/runs"
COMMAND = "python benchmarks/transformer.py"
SEEDS = range(3)
PAIR = range(2)
ROWS = {
    "pre-norm": {},
    "no attention": {"part": "attention"},
    "no residual": {"part": "residual"},
}
WANTED = {  # not every row at every depth: these are the questions
    "pre-norm": (1, 12),
    "no attention": (1,),
    "no residual": (1, 12),
}
PROMPT = "attention "


@cache
def text() -> Text:
    """Return the sentences of the toy grammar with their probabilities."""
    return toy_text(grammar.sentences())


def depth() -> None:
    """Leave out a part, in stacks of 1 and 12 layers."""
    made = {
        f"{name}, {n} layer{'s' * (n > 1)}": NextWords(text(), n, **ROWS[name])
        for name, depths in WANTED.items()
        for n in depths
    }
    found = sweep(
        made,
        rates=around(4e-3, n=3),
        seeds=PAIR,
        scout=1,
        goal="low",
        flat=0.01,
        may_end_at_edge=[name for name in made if "residual" in name or "attention" in name],
        measure="nats above the floor",
        cache=CACHE / "transformer-depth.json",
        progress=False,
    )
    print(found.as_table(digits=3), flush=True)
    results.store("transformer-depth", {"sweeps": {"parts": found}}, command=COMMAND, seeds=PAIR)


def warm() -> None:
    """Train twelve layers with and without a warm-up: one seed at one rate may mislead."""
    ends = {
        f"{norm}, {'warmed up' if steps > 1 else 'no warm-up'}": {
            str(rate): [
                NextWords(text(), 12, norm_first=norm == "pre-norm", warm=steps)(rate, seed).curve[-1]
                for seed in SEEDS
            ]
            for rate in (4e-3, 8e-3)
        }
        for norm in ("pre-norm", "post-norm")
        for steps in (1, 60)
    }
    slow = NextWords(text(), 12, part="residual", warm=60, steps=300)
    ends["no residual, warmed up, 300 steps"] = {"0.0005": [slow(5e-4, seed).curve[-1] for seed in PAIR]}
    print(ends, flush=True)
    results.store("transformer-warm", {"above the floor": ends}, command=COMMAND, seeds=SEEDS)


def hops() -> None:
    """Follow a ring for one to four hops, with one to four layers; and one layer with the numbers of four.

    Seed 0 chooses between two rates, and every finished run is kept.
    """
    made = {f"{n} layer{'s' * (n > 1)}": Hops(n) for n in range(1, 5)}
    made[wide := "1 layer, twice as wide"] = Hops(1, d_model=128)
    kept, rows = CACHE / "transformer-hops.json", {}
    known = json.loads(kept.read_text())["runs"] if kept.exists() else {}

    def train(name: str, rate: float, seed: int) -> Run:
        if (key := f"{name} | rate {rate:g} | seed {seed}") not in known:
            known[key] = made[name](rate, seed).as_dict(level=None, goal="high")
            benchmark.store(kept, {"runs": known})
        return Run.from_dict(known[key])

    for name in made:
        tried = {rate: [train(name, rate, 0)] for rate in (2e-3, 4e-3)}
        best = choose_rate(tried, goal="high", level=None, choose="end")
        tried[best] += [train(name, best, seed) for seed in SEEDS[1:]]
        rows[name] = Row(name, best, tried, control=name == wide, edge=True, settings=settings_of(made[name]))
    found = Comparison(rows, measure="right answers", how="the better one for the first seed", goal="high")
    print(found.as_table(), flush=True)
    numbers = {"by guessing": 1 / (Hops(1).names - 1), "sweeps": {"hops": found}}
    results.store("transformer-hops", numbers, command=COMMAND, seeds=SEEDS)


def letters() -> None:
    """Train a language model on the book's own words, letter by letter, beside tables of counts.

    Both learn from the same eight tenths. The ninth chooses, for the model between three rates with seed 0,
    and the last tests. Every finished run is kept, as long as the text stays the same.
    """
    book = Letters(prose(ROOT / "chapters"))
    task = NextLetter(book, n_layers=2, d_model=64, steps=1600, dropout=0.0)
    kept = CACHE / "transformer-text.json"
    known = json.loads(kept.read_text()) if kept.exists() else {}

    def train(rate: float, seed: int) -> dict:
        if (key := f"{book.sha256[:8]} | rate {rate:g} | seed {seed}") not in known:
            model, curve = task.train(rate, seed)
            known[key] = {
                "dev": curve,
                "test": task.loss(model, "test"),
                "both": both(task, model),
                **reading_on(task, model),
            }
            benchmark.store(kept, known)
            print(key, known[key], flush=True)
        return known[key]

    tried = {rate: train(rate, 0)["dev"][-1] for rate in around(1.5e-3, n=3)}
    best = min(tried, key=tried.__getitem__)
    runs = [train(best, seed) for seed in SEEDS]
    numbers = {
        "text": {"letters": len(book.text), "alphabet": len(book.alphabet), "sha256": book.sha256},
        "model": {"layers": task.n_layers, "width": task.d_model, "context": task.context, "rate": best},
        "parameters": sum(p.numel() for p in task.model(0).parameters()),
        "steps": task.steps,
        "every": task.every,
        "rates tried on dev, seed 0": tried,
        **{name: [run[name] for run in runs] for name in ("dev", "test", "both", "by place")},
        "tables of counts": {
            part: [float(counting(book, order, part).mean()) for order in range(9)]
            for part in ("dev", "test")
        },
        "written": runs[0]["written"],
    }
    results.store("transformer-text", numbers, command=COMMAND, seeds=SEEDS)


def both(task: NextLetter, model: LanguageModel) -> float:
    """Return the loss on the test part of the mean of two probabilities: the model's and a table's."""
    net, skipped = task.paid(model, "test"), task.context // 2 + 1
    table = counting(task.letters, 6)[skipped : skipped + len(net)]
    return float(-((-net).exp() + (-table).exp()).div(2).log().mean())


@torch.no_grad()
def reading_on(task: NextLetter, model: LanguageModel) -> dict:
    """Read and write three times as far as a window of training: text, what it costs by place; and own words.

    It writes from all that stands before, or from no more than a window of training.
    """
    n, start = task.context, task.letters.encode(PROMPT)[None]
    costs = task.by_place(model, "test", 3 * n).unflatten(0, (-1, n // 2)).mean(1)
    written = {}
    for name, seen in (("all", 3 * n), ("a window", n)):
        ids, draw = start, torch.Generator().manual_seed(0)
        while ids.shape[1] < 3 * n:
            p = (model(ids[:, -seen:])[:, -1] / 0.5).softmax(-1)
            ids = torch.cat((ids, torch.multinomial(p, 1, generator=draw)), 1)
        written[name] = task.letters.read(ids[0])
    return {"by place": costs.tolist(), "written": written}


if __name__ == "__main__":
    torch.set_num_threads(1)
    results.begin()
    parts = {"depth": depth, "warm": warm, "hops": hops, "text": letters}
    for name in sys.argv[1:] or parts:
        parts[name]()
