"""Stretch a trained model: read texts four times as long in several ways; write results/stretching.json.

    python benchmarks/stretching.py

Two causal layers with rotary positions learn texts of 32 words, each one block over and over
(`attnbook.experiments.stretching`). The rate is chosen on texts of 32. Two ways of stretching leave a number
open: it is chosen with other models on other texts of 128, and stands in the experiment. The same weights
then read texts of 128 with other speeds of rotation, without any training; as controls with far keys hidden,
and with far keys whose distance is cut down to the longest of training, so that no turn is unseen. Finished
runs are kept in _build/runs.

A second task needs no far key: the rotary taggers of benchmarks/positions.py, trained again at their stored
rate on streams of 24 words, read streams of 96 in the same ways. No number is chosen for it.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import get_args

import positions as streams  # the script beside this one
import torch
from torch import Tensor, nn

from attnbook import results
from attnbook.experiments import around, stretching, sweep
from attnbook.tagging import train
from attnbook.tagging.taggers import Tagger, Vocabulary
from attnlab.multihead import MultiHeadAttention

KEPT = Path(__file__).parents[1] / "_build/runs"
SEEDS, CHOOSING = (0, 1, 2, 3, 4), (100, 101, 102)
STREAM_BASE = 10_000.0
"""Of the taggers: what `MultiHeadAttention(rotary=True)` has."""


def main() -> None:
    """Read the command line, train, and store."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--seeds", nargs="+", type=int, default=list(SEEDS))
    chosen = arguments.parse_args()
    torch.set_num_threads(1)
    results.begin()
    names = [
        "TRAINED",
        "FACTOR",
        "BASE",
        "KEPT_FROM",
        "LARGER",
        "WORDS",
        "D_MODEL",
        "N_HEADS",
        "STEPS",
        "BATCH",
    ]
    settings = {name.lower(): getattr(stretching, name) for name in names}
    first = sweep(
        {"RoPE": stretching.repeat},
        rates=around(0.01, n=3),
        seeds=chosen.seeds,
        scout=1,
        measure="right at 32",
        cache=KEPT / "stretching.json",
        settings=settings | {"optimizer": "Adam", "examples": "texts", "counts": "words right in new texts"},
    )
    tried = stretching.choose(first["RoPE"].rate, CHOOSING)
    rate = results.sweep("positions", "streams")["RoPE"].rate
    read = [read_streams(rate, seed) for seed in chosen.seeds]
    numbers = {
        "settings": settings,
        "chosen with other models": tried,
        "streams": {"trained": streams.TRAINED, "rate": rate, "base": STREAM_BASE, "right": read},
        "sweeps": {"trained on 32": first},
    }
    results.store("stretching", numbers, command="python benchmarks/stretching.py", seeds=chosen.seeds)


class Cut(nn.Module):
    """A causal layer to which no key is farther away than `cut`."""

    def __init__(self, layer: MultiHeadAttention, cut: int) -> None:
        super().__init__()
        self.layer, self.cut = layer, cut

    def forward(self, x: Tensor, **options: Tensor | bool | None) -> Tensor:
        """Attend as the tagger does that passes these options: causally, and with nothing else."""
        assert options.pop("is_causal")
        assert not any(value is not None for value in options.values())
        return stretching.attend_cut(self.layer, x, self.cut)


def read_streams(rate: float, seed: int) -> dict[str, list[float]]:
    """Train one rotary tagger on streams of 24 words, and read streams of 96 in every way.

    Returns:
        For each way, for "hidden" and for "cut", the accuracy in per cent on each stretch of 24 words.
    """
    data = streams.streams(streams.STREAMS["train"], streams.TRAINED, seed)
    torch.manual_seed(seed)
    tagger = Tagger(Vocabulary(data), positions="rotary", **streams.MODEL)
    dev = streams.streams(streams.STREAMS["dev"], streams.TRAINED, seed=20_000)
    train(tagger, data, dev, seed=seed, lr=rate, progress=False, **streams.TRAINING)
    test, reach = streams.held_out(), streams.TRAINED - 1
    right = {"as it is": streams.by_stretch(tagger, test)}
    right["hidden"] = streams.by_stretch(tagger, test, within=reach)
    layers = [part.mixer for part in tagger.layers]
    for way in get_args(stretching.Way):
        speeds = stretching.stretched(
            way, layers[0].d_head, base=STREAM_BASE, trained=streams.TRAINED, factor=streams.TIMES
        )
        for layer in layers:
            del layer.rotary  # a module gives way to a plain function only so
            layer.rotary = stretching.Turn(*speeds)
        now = streams.by_stretch(tagger, test)
        if way == "as it is":
            assert max(abs(a - b) for a, b in zip(now, right[way], strict=True)) < 0.1
            for part in tagger.layers:
                part.mixer = Cut(part.mixer, reach)
            right["cut"] = streams.by_stretch(tagger, test)
            for part in tagger.layers:
                part.mixer = part.mixer.layer
        else:
            right[way] = now
    return right


if __name__ == "__main__":
    main()
