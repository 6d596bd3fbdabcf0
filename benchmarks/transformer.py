"""A Transformer with and without its parts, and a language model of letters.

    python benchmarks/transformer.py [depth] [warm] [text]

Writes results/transformer-depth.json, transformer-warm.json and transformer-text.json.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

import torch

from attnlab import results
from attnlab.experiments import Text, around, sweep
from attnlab.experiments.book_text import Letters, NextLetter, counting, prose
from attnlab.experiments.depth import NextWords, gradient_norms, toy_text
from attnlab.tagging import grammar
from attnlab.transformer import generate

ROOT = Path(__file__).parents[1]
CACHE = ROOT / ".cache/runs"
COMMAND = "python benchmarks/transformer.py"
SEEDS = range(3)
PAIR = range(2)
DEPTHS = (1, 6, 12)
ROWS = {
    "pre-norm": {},
    "post-norm": {"norm_first": False},
    "post-norm, rate warmed up": {"norm_first": False, "warm": 60},
    "no norm": {"part": "norm"},
    "no feed-forward": {"part": "feed-forward"},
    "no attention": {"part": "attention"},
    "no residual": {"part": "residual"},
}
WANTED = {  # not every row at every depth: these are the questions
    "pre-norm": DEPTHS,
    "post-norm": DEPTHS,
    "post-norm, rate warmed up": (12,),
    "no norm": (12,),
    "no feed-forward": (12,),
    "no residual": DEPTHS,
    "no attention": (1,),
}
PROMPT = "attention "


@cache
def text() -> Text:
    """Return the sentences of the toy grammar with their probabilities."""
    return toy_text(grammar.sentences())


def depth() -> None:
    """Leave out a part, in stacks of 1, 6 and 12 layers; and follow the gradient down before training."""
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
        budget="AdamW on a cosine, 150 steps of 32 sentences, width 32; one seed tries the rates",
        cache=CACHE / "transformer-depth.json",
        settings={"version": 1},
        progress=False,
    )
    print(found.as_table(digits=3), flush=True)
    some = torch.multinomial(text().chances, 64, True, generator=torch.Generator().manual_seed(0))
    batch = text().read[some], text().guess[some]
    norms = {
        name: [gradient_norms(NextWords(text(), 12, **ROWS[name]).model(seed), *batch) for seed in PAIR]
        for name in ("pre-norm", "post-norm", "no norm", "no residual")
    }
    numbers = {"sweeps": {"parts": found}, "gradients at the start": norms}
    results.store("transformer-depth", numbers, command=COMMAND, seeds=PAIR)


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


def letters() -> None:
    """Train a language model on the book's own words, letter by letter: one run, at one rate."""
    book = Letters(prose(ROOT / "chapters"))
    task, rate = NextLetter(book), 4e-3
    model, curve = task.train(rate, seed=0)
    start = book.encode(PROMPT)[None]
    drawn = [
        book.read(generate(model, start, 200, temperature=t, generator=torch.Generator().manual_seed(0))[0])
        for t in (0.5, 1.0)
    ]
    numbers = {
        "text": {"letters": len(book.text), "alphabet": len(book.alphabet), "sha256": book.sha256},
        "model": {"layers": task.n_layers, "width": task.d_model, "context": task.context, "rate": rate},
        "parameters": sum(p.numel() for p in model.parameters()),
        "steps": task.steps,
        "every": task.every,
        "held back": curve,
        "tables of counts": [counting(book, order) for order in range(7)],
        "written": dict(zip(("0.5", "1.0"), drawn, strict=True)),
    }
    print(curve[-1], min(numbers["tables of counts"]), *drawn, sep="\n", flush=True)
    results.store("transformer-text", numbers, command=COMMAND, seeds=[0])


if __name__ == "__main__":
    torch.set_num_threads(1)
    parts = {"depth": depth, "warm": warm, "text": letters}
    for name in sys.argv[1:] or parts:
        parts[name]()
