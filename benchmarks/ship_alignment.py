"""Train the four small models of the alignment figure and write them where page and kernel find them.

    python benchmarks/ship_alignment.py
    python benchmarks/ship_alignment.py --measure

With --measure the weights stay as they are, and only the numbers in the card are made anew.

They read one date each, with states of 25; weights are stored in 8 bits with a scale for each row. The
numbers in the file's card are measured after the rounding.
"""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path

import torch
from safetensors.torch import load, save
from torch import Tensor

import attnbook
from attnbook.experiments import Translation, dates, translation
from attnbook.tagging.shipped import dequantize, quantize
from attnbook.widgets import alignment, stored

PAGE_FILE = Path(attnbook.__file__).parent / "static/alignment-model.js"
SIZE = {"d_embed": 10, "d_hidden": 25}
OPTIONS = {"bahdanau": SIZE | {"d_align": 16}, "dot": SIZE, "general": SIZE, "concat": SIZE}
RATES = {"bahdanau": 0.01, "dot": 0.01, "general": 0.01, "concat": 0.01}
STEPS = {"bahdanau": 2000, "dot": 3000, "general": 3000, "concat": 4000}
SEED, TEST = 0, 10_003


def train() -> dict[str, Tensor]:
    """Train and round the four models."""
    tensors = {}
    for name, options in OPTIONS.items():
        task = Translation(name, options, train_on=(1,), test_on=(1,), steps=STEPS[name], every=500)
        model, run = task.train(RATES[name], SEED)
        print(name, run.curve, run.extras, flush=True)
        tensors |= {f"{name}/{key}": value for key, value in quantize(model.state_dict()).items()}
    return tensors


def main() -> None:
    """Train, round, measure, write."""
    torch.set_num_threads(1)
    tensors = load(stored.file("alignment")) if "--measure" in sys.argv else train()
    card = {"source": dates.SOURCE, "target": dates.TARGET, "models": {}}
    pairs = translation.new(1000, 1, TEST, alignment.learned())
    for name, options in OPTIONS.items():
        model = translation.MODELS[name](**options)
        packed = {key.removeprefix(f"{name}/"): x for key, x in tensors.items() if key.startswith(f"{name}/")}
        model.load_state_dict(dequantize(packed))
        found = translation.measure(model, pairs)
        card["models"][name] = options | {"right": round(100 * found["right"], 1)}
        print(name, found, flush=True)
    data = save(tensors, metadata={"card": json.dumps(card)})
    text = base64.b64encode(data).decode()
    PAGE_FILE.write_text(f'(globalThis.attnlabModels ??= {{}}).alignment = "{text}";\n')
    print(len(data), "bytes,", PAGE_FILE.stat().st_size, "in the page")


if __name__ == "__main__":
    main()
