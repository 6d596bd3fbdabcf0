"""Which property catches which broken attention: answers of exercises, candidates, mutants of the package.

    python benchmarks/battery_broken.py {answers,candidates,mutants} [--out FILE]

Answers and candidates are asked as their exercise calls them. Some are wrong only in what an exercise
promises beside (a name, its work, a dtype), and no property asks that. Mutants are the package with one line
changed.
"""

from __future__ import annotations

import argparse
import importlib
import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from attnbook import battery, results
from attnbook.checkers.tasks import CHECKERS
from attnbook.properties import PROPERTIES
from attnlab import attention, masks

ROOT = Path(__file__).resolve().parents[1]
WINDOW = 3
CHANGED = ("dot_product", "multihead", "self_attention", "cache", "latent", "differential")
"""The modules of attnlab whose mutants are asked."""


def whole(mask: Tensor | None, q: Tensor, k: Tensor) -> Tensor:
    """Return a mask that hides nothing, where there is none."""
    return torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool) if mask is None else mask


ANSWERS: dict[str, tuple[Callable[[Any], Any], dict[str, Any]]] = {
    "heads-layer": (
        lambda answer: answer(8, 8, 2, 4),
        # Its exercise promises nothing of an empty row, nor do right answers keep it.
        {
            "call": lambda m, x, mask: m(x, None, mask),
            "polarity": "keep",
            "sees": "all",
            "d_model": 8,
            "not_meant": ("empty row",),
        },
    ),
    "queries-layer": (
        lambda answer: answer(6, 6, 4, 5),
        {"call": lambda m, x: m(x), "sees": "all", "d_model": 6},
    ),
    "heads-grouped-query": (
        lambda answer: answer,
        # Its exercise promises nothing of half precision, where q·k ends at 65,504.
        {
            "call": lambda f, q, k, v: f(q, k, v),
            "group": 2,
            "sees": "all",
            "not_meant": ("precision",),
        },
    ),
    "sparse-block-window": (
        lambda answer: answer,
        # Nor does this one promise half precision, which has no -1e9.
        {
            "call": lambda f, q, k, v: f(q, k, v, WINDOW),
            "sees": lambda n: masks.window(n, WINDOW, 0),
            "not_meant": ("precision",),
        },
    ),
    "masking-softmax": (
        lambda answer: answer,
        {
            "call": lambda f, q, k, v, mask: f(q / q.shape[-1] ** 0.5 @ k.mT, whole(mask, q, k)) @ v,
            "polarity": "keep",
            "sees": "all",
        },
    ),
}


def as_many(q: Tensor, k: Tensor) -> None:
    """Refuse fewer queries than keys."""
    if q.shape[-2] != k.shape[-2]:
        raise ValueError("as many queries as keys are meant")


def square(function: Callable[..., Tensor], q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Call what is told of as many queries as keys alone."""
    as_many(q, k)
    return function(q, k, v)


def heads_apart(function: Callable[..., Tensor], q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Call a layer of heads with queries, keys and values: its projections take them out of tokens.

    The last matrix moves each head one place on, and here it moves back.
    """
    as_many(q, k)
    parts = [x.transpose(-3, -2).flatten(-2) for x in (q, k, v)]
    x = torch.cat(parts, -1)
    taken = torch.eye(x.shape[-1], dtype=x.dtype).split([one.shape[-1] for one in parts], -1)
    joined = q.shape[-3] * v.shape[-1]
    turn = torch.eye(joined, x.shape[-1], dtype=x.dtype).roll(-v.shape[-1], 0)
    out = function(x, *taken, turn, q.shape[-3], k.shape[-3])[..., :joined].roll(-v.shape[-1], -1)
    return out.unflatten(-1, (q.shape[-3], -1)).transpose(-3, -2)


def turned(rotate: Callable[..., Tensor], by: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Attend with queries and keys that are turned by their places, which begin at `by`."""
    as_many(q, k)
    q, k = (rotate(x, by + torch.arange(x.shape[-2])) for x in (q, k))
    return attention(q, k, v.to(q.dtype))


def step_by_step(make: Callable, pieces: list[tuple[Tensor, ...]]) -> list[Tensor]:
    """Fill one cache with pieces."""
    step = make(WINDOW)
    return [step(*piece) for piece in pieces]


CANDIDATES: dict[str, tuple[Callable[[Any], Any], dict[str, Any]]] = {
    "testing-scaling": (lambda f: f, {"call": lambda f, q, k, v: f(q, k, v), "sees": "all"}),
    "testing-mask": (
        lambda f: f,
        {"call": lambda f, q, k, v, mask: f(q, k, v, whole(mask, q, k)), "polarity": "keep", "sees": "all"},
    ),
    "testing-heads": (lambda f: f, {"call": heads_apart, "sees": "all", "group": 2}),
    "testing-rotary": (
        lambda f: f,
        {
            "call": lambda f, q, k, v: turned(f, 0, q, k, v),
            "sees": "all",
            "positions": turned,
            "not_meant": ("definition",),
        },
    ),
    "testing-cache": (
        lambda make: make,
        {
            "call": lambda make, q, k, v: make(WINDOW)(q, k, v),
            "sees": lambda n: masks.window(n, WINDOW - 1, 0),
            "decode": step_by_step,
        },
    ),
    "testing-linear": (
        lambda f: f,
        {"call": square, "sees": "past", "not_meant": ("definition",)},
    ),
}


def answers() -> Iterator[tuple[str, str, bool, Any, dict[str, Any]]]:
    """Hand out answers of exercises: exercise, title, whether it is right, the layer, how it is asked."""
    sys.path.insert(0, str(ROOT / "tests/exercises"))
    for answer in importlib.import_module("answers").load():
        if answer.exercise in ANSWERS:
            make, options = ANSWERS[answer.exercise]
            torch.manual_seed(0)
            try:
                layer = make(answer.does)
            except Exception:
                continue  # what can't be made is no attention
            if callable(layer):
                yield answer.exercise, answer.title, answer.status == "right", layer, options


def candidates() -> Iterator[tuple[str, str, bool, Any, dict[str, Any]]]:
    """Hand out the candidates of the exercises in which the reader writes the test."""
    for exercise, (make, options) in CANDIDATES.items():
        task = CHECKERS[exercise]
        for one in task.candidates:
            layer = make(one.build(task.function))
            yield exercise, one.says or one.title or one.name, one.right, layer, options


def of_the_package() -> list[str]:
    """Return the properties that this package's attention breaks: none, unless it is a mutant."""
    sys.path.insert(0, str(ROOT / "tests/unit"))
    ours = importlib.import_module("test_battery").OURS
    broken: set[str] = set()
    for name, (make, call, options) in ours.items():
        if "ttention" in name and "Selected" not in name:
            torch.manual_seed(0)
            broken |= set(battery(make(), call, **options).broken)
    return [name for name in PROPERTIES if name in broken]


def mutants() -> Iterator[tuple[str, list[str]]]:
    """Break the package, ask it, and hand out the name of each mutant with what it broke."""
    sys.path.insert(0, str(ROOT / "tests/mutants"))
    for one in importlib.import_module("run").MUTANTS:
        if one.file.removeprefix("attnlab/").removesuffix(".py") not in CHANGED:
            continue
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "src"
            shutil.copytree(ROOT / "src", copy, ignore=shutil.ignore_patterns("__pycache__", "static"))
            place = copy / one.file
            place.write_text(
                place.read_text(encoding="utf-8").replace(one.right, one.wrong, 1), encoding="utf-8"
            )
            done = subprocess.run(
                [sys.executable, "-W", "ignore", __file__, "own"],
                env=os.environ | {"PYTHONPATH": str(copy)},
                capture_output=True,
                text=True,
                check=False,
            )
        said = done.stdout.strip().splitlines()
        yield one.name, said[-1].split(",") if done.returncode == 0 and said and said[-1] else []


def main() -> None:
    """Ask all of them, and store what was caught by what."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("answers", "candidates", "mutants", "own"), help="own: this package")
    parser.add_argument("--out", type=Path, help="another file, for a trial")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    if chosen.what == "own":
        print(",".join(of_the_package()))
        return
    results.begin(chosen.out)
    rows: list[dict[str, Any]] = []
    for exercise, title, right, layer, options in LISTED[chosen.what]():
        findings = battery(layer, **options)
        row = {"exercise": exercise, "title": title, "right": right, "caught by": findings.broken}
        rows.append(row | {"could not ask": findings.unasked})
        print(exercise, "right" if right else "wrong", title, "|", *findings.broken, flush=True)
    for title, broken in mutants() if chosen.what == "mutants" else ():
        rows.append({"title": title, "right": False, "caught by": broken})
        print(title, "|", *broken, flush=True)
    results.store(
        f"battery-{chosen.what}",
        {"properties": list(PROPERTIES), "found": rows},
        command=f"python benchmarks/battery_broken.py {chosen.what}",
        path=chosen.out,
    )


LISTED = {"answers": answers, "candidates": candidates, "mutants": lambda: ()}


if __name__ == "__main__":
    main()
