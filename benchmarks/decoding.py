"""Models of the toy grammar: what rules, drafts and shared heads make of them, and what a pass costs.

    python benchmarks/decoding.py [models] [rules] [drafts] [sharing] [batch] [speed]

`models` trains the two that the figure and the chapter write with, and stores them in 8 bits as
src/attnbook/static/decoder-model.js. The others write results/decoding-*.json.
"""

from __future__ import annotations

import base64
import json
import sys
import time
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import torch
from safetensors.torch import save

from attnbook import benchmark, results
from attnbook.experiments import Text, around, decoding, sweep
from attnbook.experiments.depth import NextWords, toy_text
from attnbook.tagging import grammar
from attnbook.tagging.shipped import dequantize, quantize
from attnbook.widgets import decoder
from attnlab.transformer import LanguageModel, generate
from attnlab.transformer.speculative import speculate

ROOT = Path(__file__).parents[1]
CACHE = ROOT / ".cache/runs"
COMMAND = "python benchmarks/decoding.py"
PAGE_FILE = ROOT / "src/attnbook/static/decoder-model.js"
SEEDS = range(3)
RATES = {"model": 4e-3, "draft": 4e-3, "large": 5e-4}
RULES = {
    "nothing": {},
    "temperature 0.7": {"temperature": 0.7},
    "temperature 1.5": {"temperature": 1.5},
    "top-k, 5": {"top_k": 5},
    "top-p, 0.9": {"top_p": 0.9},
    "min-p, 0.1": {"min_p": 0.1},
    "top-k, 5, at temperature 1.5": {"temperature": 1.5, "top_k": 5},
    "top-p, 0.9, at temperature 1.5": {"temperature": 1.5, "top_p": 0.9},
    "min-p, 0.1, at temperature 1.5": {"temperature": 1.5, "min_p": 0.1},
    "greedy": {"temperature": 0.0},
}


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


def large_task() -> NextWords:
    """A model whose weights are most of what a pass costs, on the same sentences: six layers of width 512."""
    return NextWords(text(), 6, d_model=512, steps=200, warm=20, batch=32, every=20)


SHIPPED = {"model": task, "draft": draft_task}
TASKS = SHIPPED | {"large": large_task}


@cache
def trained(seed: int, kind: str = "model") -> LanguageModel:
    """Return a trained model; it is kept for the next time."""
    how = TASKS[kind]()
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
    model = TASKS[kind]().model(0)
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
    """Say exactly what each rule lets through."""
    scores = decoding.scores_of(rounded("model"), text())
    found = {}
    for name, rule in RULES.items():
        found[name] = {"rules": rule} | decoding.measured(scores, text(), **rule)
        print(name, found[name], flush=True)
    numbers = {"rules": found, "floor": task().floor, "above the floor": task().excess(rounded("model"))}
    results.store("decoding-rules", numbers, command=COMMAND, seeds=[0])


def drafts() -> None:
    """Measure how much of a draft is kept."""
    model, draft = rounded("model"), rounded("draft")
    own, theirs = (decoding.scores_of(one, text()) for one in (model, draft))
    rate = {
        name: decoding.acceptance(own, theirs, text(), **rule)
        for name, rule in RULES.items()
        if name in ("nothing", "temperature 0.7", "greedy")
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
    sizes = {kind: sum(p.numel() for p in rounded(kind).parameters()) for kind in SHIPPED}
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


@torch.no_grad()
def batch() -> None:
    """Time a decoding step by batch size, and predict it from what this machine can do at best.

    Beside the whole step its matrix products are timed by themselves, each with a matrix of the model.
    """
    shape = {"vocab_size": 4096, "d_model": 768, "n_heads": 12, "n_layers": 6}
    model, n = LanguageModel(**shape).eval(), 128
    weights = sum(p.numel() for p in model.parameters())
    matrices = [part.weight for part in model.modules() if isinstance(part, torch.nn.Linear)]
    best = benchmark.ceilings(clock=time.process_time)
    rows = {}
    for size in (1, 2, 4, 8, 16, 32, 64):
        cache = model.new_cache(size, n + 1)
        prompt = torch.zeros(size, n, dtype=torch.long)
        model(prompt, cache=cache, last=True)
        tokens = {matrix: torch.randn(size, matrix.shape[1]) for matrix in matrices}

        def step(cache=cache, last=prompt[:, :1]) -> None:
            for layer in cache:
                layer.truncate(n)
            model(last, cache=cache, last=True)

        def products(tokens=tokens) -> None:
            for matrix, x in tokens.items():
                torch.nn.functional.linear(x, matrix)

        def prefill(cache=cache, prompt=prompt) -> None:
            for layer in cache:
                layer.clear()
            model(prompt, cache=cache, last=True)

        found = benchmark.compare(
            {"step": step, "products": products} | ({"prefill": prefill} if size == 1 else {}),
            repeats=9,
            clock=time.process_time,
        )
        kept = 2 * shape["n_layers"] * shape["d_model"] * n * size
        rows[size] = {
            "seconds": found.summary(),
            "reading": 4 * (weights + kept) / best["copy bytes/s"],
            "computing": (2 * weights * size + 2 * kept) / best["matmul FLOP/s"],
        }
        print(size, rows[size], flush=True)
    numbers = {"shape": shape | {"parameters": weights, "n": n}, "ceilings": best, "steps": rows}
    results.store("decoding-batch", numbers, command=COMMAND, seeds=[])


@torch.no_grad()
def speed() -> None:
    """Time sentences written with the draft and without, beside what the cost of single passes predicts.

    The model is a large one: a pass of the other two is mostly Python.
    """
    model, draft, max_new_tokens = trained(0, "large"), decoder.models()["draft"], 12
    some = torch.multinomial(text().chances, 2000, True, generator=torch.Generator().manual_seed(0))
    sample = SimpleNamespace(read=text().read[some], guess=text().guess[some], chances=torch.ones(len(some)))
    kept = decoding.acceptance(*(decoding.scores_of(one, sample) for one in (model, draft)), sample)
    start, drafts, sentences = torch.tensor([[decoding.START]]), (1, 2, 3, 4, 6), 60
    counts: dict[int, dict[str, int]] = {}

    def write(m: int) -> None:
        how = {
            "temperature": 1.0,
            "eos_token_id": decoding.END,
            "generator": torch.Generator().manual_seed(0),
        }
        words = passes = 0
        for _ in range(sentences):
            if m:
                found = speculate(model, draft, start, max_new_tokens, n_draft=m, **how)
                ids, passes = found.ids, passes + found.steps
            else:
                ids = generate(model, start, max_new_tokens, **how)
            words += min(max_new_tokens, int((ids[0, 1:] != decoding.END).sum()) + 1)
        counts[m] = {"words": words, "passes": passes if m else words}

    def passing(one: LanguageModel, n: int) -> None:
        cache, ids = one.new_cache(1, max_new_tokens), torch.zeros(1, 5, dtype=torch.long)
        one(ids[:, :4], cache=cache)
        for _ in range(20):
            for layer in cache:
                layer.truncate(4)
            one(ids[:, 4:].expand(1, n), cache=cache)

    found = benchmark.compare(
        {f"{m} drafted": lambda m=m: write(m) for m in (0, *drafts)}
        | {f"pass over {m + 1}": lambda m=m: passing(model, m + 1) for m in (0, *drafts)}
        | {"pass of the draft": lambda: passing(draft, 1)},
        repeats=5,
        clock=time.process_time,
    )
    share = found.ratio("pass of the draft", "pass over 1")
    rows = {}
    for m in drafts:
        takes = found.ratio(f"pass over {m + 1}", "pass over 1") + m * share
        words = decoding.expected_words(kept, m, decoding.lengths_of(text()))
        counted = counts[m]["words"] / counts[m]["passes"]
        more = counts[m]["words"] / counts[0]["words"]  # the texts are others, and not as long
        rows[m] = {
            "words a pass": {"expected": words, "counted": counted},
            "a pass takes": takes,
            "times as fast": {
                "if all passes cost alike": words / (1 + m * share),
                "expected": words / takes,
                "measured": found.ratio("0 drafted", f"{m} drafted") * more,
            },
        }
        print(m, rows[m], flush=True)
    numbers = {
        "parameters": {"model": sum(p.numel() for p in model.parameters())}
        | {"draft": sum(p.numel() for p in draft.parameters())},
        "kept": kept,
        "the draft's share": share,
        "sentences": sentences,
        "seconds": found.summary(),
        "drafted": rows,
    }
    results.store("decoding-speed", numbers, command=COMMAND, seeds=[0])


if __name__ == "__main__":
    torch.set_num_threads(1)
    results.begin()
    parts = {
        "models": models,
        "rules": rules,
        "drafts": drafts,
        "sharing": sharing,
        "batch": batch,
        "speed": speed,
    }
    for name in sys.argv[1:] or parts:
        parts[name]()
