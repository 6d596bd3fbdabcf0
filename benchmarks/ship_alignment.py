"""Train the four small models of the alignment figure and write them where page and kernel find them.

    python benchmarks/ship_alignment.py

They read one date each, with states of 25; weights are stored in 8 bits with a scale for each row. The
numbers in the file's card are measured after the rounding.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path

import torch
from safetensors.torch import save

import attnbook
from attnbook.experiments import Translation, dates, translation
from attnbook.tagging.shipped import dequantize, quantize

PAGE_FILE = Path(attnbook.__file__).parent / "static/alignment-model.js"
SIZE = {"d_embed": 10, "d_hidden": 25}
OPTIONS = {"bahdanau": SIZE | {"d_align": 16}, "dot": SIZE, "general": SIZE, "concat": SIZE}
RATES = {"bahdanau": 0.01, "dot": 0.01, "general": 0.01, "concat": 0.01}
STEPS = {"bahdanau": 2000, "dot": 3000, "general": 3000, "concat": 4000}
SEED, TEST = 0, 10_003


def main() -> None:
    """Train, round, measure, write."""
    torch.set_num_threads(1)
    tensors, card = {}, {"source": dates.SOURCE, "target": dates.TARGET, "models": {}}
    for name, options in OPTIONS.items():
        task = Translation(name, options, train_on=(1,), test_on=(1,), steps=STEPS[name], every=500)
        model, run = task.train(RATES[name], SEED)
        packed = quantize(model.state_dict())
        model.load_state_dict(dequantize(packed))
        found = translation.measure(model, translation.new(1000, 1, TEST, task.known(SEED)))
        card["models"][name] = options | {"right": round(100 * found["right"], 1)}
        tensors |= {f"{name}/{key}": value for key, value in packed.items()}
        print(name, run.curve, run.extras, found, flush=True)
    data = save(tensors, metadata={"card": json.dumps(card)})
    text = base64.b64encode(data).decode()
    PAGE_FILE.write_text(f'(globalThis.attnlabModels ??= {{}}).alignment = "{text}";\n')
    print(len(data), "bytes,", PAGE_FILE.stat().st_size, "in the page")


if __name__ == "__main__":
    main()
