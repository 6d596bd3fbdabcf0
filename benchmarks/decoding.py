"""Models of the toy grammar: what rules, drafts and shared heads make of them, and what a pass costs.

    python benchmarks/decoding.py [models] [rules] [drafts] [sharing]

`models` trains the two that the figure and the chapter write with, and stores them in 8 bits as
src/attnbook/static/decoder-model.js. The others write results/decoding-*.json.
"""

from __future__ import annotations

import base64
import json
import sys
from functools import cache
from pathlib import Path

import torch
from safetensors.torch import save

from attnbook import results
from attnbook.experiments import Text, around, decoding, sweep
from attnbook.experiments.depth import NextWords, toy_text
from attnbook.tagging import grammar
from attnbook.tagging.shipped import dequantize, quantize
from attnbook.widgets import decoder
from attnlab.transformer import LanguageModel

ROOT = Path(__file__).parents[1]
CACHE = ROOT / ".cache/runs"
COMMAND = "python benchmarks/decoding.py"
PAGE_FILE = ROOT / "src/attnbook/static/decoder-model.js"
SEEDS = range(3)
RATES = {"model": 4e-3, "draft": 4e-3}
CUTS = {
    "nothing": {},
    "top-k, 5": {"top_k": 5},
    "top-k, 8": {"top_k": 8},
    "top-p, 0.9": {"top_p": 0.9},
    "top-p, 0.97": {"top_p": 0.97},
    "min-p, 0.1": {"min_p": 0.1},
    "min-p, 0.2": {"min_p": 0.2},
}
RULES = (
    CUTS
    | {f"{name}, at temperature 3": {"temperature": 3.0} | rule for name, rule in CUTS.items()}
    | {"temperature 0.7": {"temperature": 0.7}, "greedy": {"temperature": 0.0}}
)


@cache
def text() -> Text:
    """Return the sentences of the toy grammar with their probabilities."""
    return toy_text(grammar.sentences())


def task() -> NextWords:
    """The model: two layers of width 32."""
    return NextWords(text(), 2, d_model=32, steps=2000, warm=50, batch=64, every=50)


def draft_task() -> NextWords:
    """The draft: one layer of width 8, trained for less long."""
    return NextWords(text(), 1, d_model=8, steps=600, warm=50, batch=64, every=50)


SHIPPED = {"model": task, "draft": draft_task}


@cache
def trained(seed: int, kind: str = "model") -> LanguageModel:
    """Return a trained model; it is kept for the next time."""
    how = SHIPPED[kind]()
    file = CACHE / f"decoding-{kind}-{seed}.pt"
    model = how.model(seed)
    if file.exists():
        model.load_state_dict(torch.load(file))
    else:
        model, curve = how.train(RATES[kind], seed)
        file.parent.mkdir(parents=True, exist_ok=True)
        torch.save(model.state_dict(), file)
        print(kind, seed, [round(x, 4) for x in curve[::8]], curve[-1], flush=True)
    return model.eval()


@cache
def rounded(kind: str) -> LanguageModel:
    """Return a model as it ships, in 8 bits."""
    model = SHIPPED[kind]().model(0)
    model.load_state_dict(dequantize(quantize(trained(0, kind).state_dict())))
    return model.eval()


def models() -> None:
    """Train what ships, and write it."""
    tensors, card = {}, {"words": text().words, "models": {}}
    for kind in SHIPPED:
        how = SHIPPED[kind]()
        tensors |= {
            f"{kind}/{name}": value for name, value in quantize(trained(0, kind).state_dict()).items()
        }
        card["models"][kind] = {
            "d_model": how.d_model,
            "n_layers": how.n_layers,
            "n_heads": 4,
            "above the floor": round(how.excess(rounded(kind)), 4),
            "before rounding": round(how.excess(trained(0, kind)), 4),
        }
    data = save(tensors, metadata={"card": json.dumps(card)})
    page = base64.b64encode(data).decode()
    PAGE_FILE.write_text(f'(globalThis.attnlabModels ??= {{}}).decoder = "{page}";\n')
    print(card["models"], len(data), "bytes,", PAGE_FILE.stat().st_size, "in the page", flush=True)


def rules() -> None:
    """Say exactly what each rule lets through, of the model that ships."""
    model = decoder.models()["model"]
    scores = decoding.scores_of(model, text())
    found = {}
    for name, rule in RULES.items():
        found[name] = {"rules": rule} | decoding.measured(scores, text(), **rule)
        print(name, found[name], flush=True)
    numbers = {"rules": found, "floor": task().floor, "above the floor": task().excess(model)}
    results.store("decoding-rules", numbers, command=COMMAND, seeds=[0])


def drafts() -> None:
    """Measure how much of a draft is kept, with the two models that ship."""
    model, draft = (decoder.models()[kind] for kind in SHIPPED)
    own, theirs = (decoding.scores_of(one, text()) for one in (model, draft))
    rate = {
        name: decoding.acceptance(own, theirs, text(), **RULES[name])
        for name in ("nothing", "temperature 0.7", "greedy")
    }
    rows, lengths = {}, decoding.lengths_of(text())
    for n_draft in (1, 2, 3, 4, 6):
        found = [decoding.words_a_pass(model, draft, n_draft, sentences=300, seed=seed) for seed in SEEDS]
        rows[n_draft] = {
            "expected": decoding.expected_words(rate["nothing"], n_draft),
            "expected, with ends": decoding.expected_words(rate["nothing"], n_draft, lengths),
            "measured": found,
        }
        print(n_draft, rows[n_draft], flush=True)
    sizes = {kind: sum(p.numel() for p in one.parameters()) for kind, one in decoder.models().items()}
    numbers = {"kept": rate, "parameters": sizes, "words a pass": rows}
    results.store("decoding-drafts", numbers, command=COMMAND, seeds=SEEDS)


def sharing() -> None:
    """Average keys and values of a trained model over groups of heads, and train a little further."""
    base = {seed: trained(seed) for seed in SEEDS}
    further = decoding.longer(task(), 200)
    found = sweep(
        {f"{n} of 4": decoding.Shared(further, base, n) for n in (4, 2, 1)},
        rates=around(2e-3, n=3),
        seeds=SEEDS,
        scout=1,
        goal="low",
        flat=0.01,
        measure="nats above the floor, new sentences",
        cache=CACHE / "decoding-sharing.json",
        progress=False,
        may_end_at_edge=["4 of 4", "2 of 4", "1 of 4"],
    ).pick({"averaged": "only averaged", "trained further": "and trained further, exactly"})
    print(found.as_table(digits=4), flush=True)
    numbers = {
        "floor": task().floor,
        "before": [task().excess(base[seed]) for seed in SEEDS],
        "sweeps": {"averaged, then trained further": found},
    }
    results.store("decoding-sharing", numbers, command=COMMAND, seeds=SEEDS)


if __name__ == "__main__":
    torch.set_num_threads(1)
    results.begin()
    parts = {
        "models": models,
        "rules": rules,
        "drafts": drafts,
        "sharing": sharing,
    }
    for name in sys.argv[1:] or parts:
        parts[name]()
