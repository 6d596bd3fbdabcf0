"""A sink in place of the real decoder's first token, noise that a difference cancels, and what a sink costs.

    python benchmarks/tamed.py [--data FOLDER] [--only first noise cost] [--trial]

Writes results/tamed-first.json, tamed-noise.json and tamed-cost.json.

first: SmolLM2 reads texts of the treebank. From the 16th token on nobody may look at the first one, or at
another; or it may be looked at and passes nothing on; or a sink stands in its place, a number for each head,
the mean score of the first token in other texts. Counted is the loss on the later tokens.
noise: one layer is asked for the value of one key among many; how much of its weight lies there.
cost: attention beside a sink, by the fused kernel and with the weights stored, over attention without.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnbook import results
from attnbook.benchmark import compare
from attnbook.experiments import around, sweep
from attnbook.experiments.runs import Run
from attnbook.tagging import load_treebank
from attnlab import MultiHeadAttention, attention, masks
from attnlab.pretrained import load_smollm2
from attnlab.transformer import LanguageModel

LENGTH, LATE, TEXTS, OTHER = 96, 16, 40, 5
SEEDS = range(10)


# --- the first token of the real decoder -------------------------------------------------------------------


def read(model: LanguageModel, ids: Tensor, change: Callable | None = None) -> tuple[Tensor, list[Tensor]]:
    """Read texts (batch, n); `change` makes of a layer's number and scores its weights.

    Returns:
        The losses of the guesses from token LATE on (batch, n - LATE - 1), and each layer's scores
        (batch, heads, n, n).
    """
    x, n, kept = model.embedding(ids), ids.shape[1], []
    for at, layer in enumerate(model.stack.layers):
        part, normed = layer.attention, layer.attention_norm(x)
        q, k, v = part._project(normed, None, None, None)
        k, v = (one.repeat_interleave(part.n_heads // part.n_kv_heads, 1) for one in (k, v))
        scores = (q @ k.mT * part.d_head**-0.5).masked_fill(~masks.causal(n), -torch.inf)
        weights = scores.softmax(-1) if change is None else change(at, scores)
        x = x + part.out_proj((weights @ v).transpose(1, 2).flatten(-2))
        x = x + layer.ffn(layer.ffn_norm(x))
        kept.append(scores)
    logits = model.stack.final_norm(x[:, LATE:-1]) @ model.embedding.weight.mT
    return F.cross_entropy(logits.mT, ids[:, LATE + 1 :], reduction="none"), kept


def hiding(place: int) -> Callable:
    """Let nobody from token LATE on look at one place."""

    def change(at: int, scores: Tensor) -> Tensor:
        scores = scores.clone()
        scores[..., LATE:, place] = -torch.inf
        return scores.softmax(-1)

    return change


def silencing(place: int) -> Callable:
    """Let a place keep its weight from token LATE on, and pass on zeros."""

    def change(at: int, scores: Tensor) -> Tensor:
        weights = scores.softmax(-1)
        weights[..., LATE:, place] = 0
        return weights

    return change


def sinking(sinks: Tensor) -> Callable:
    """Hide the first place from token LATE on, and put a sink (layers, heads) there."""

    def change(at: int, scores: Tensor) -> Tensor:
        scores = scores.clone()
        scores[..., LATE:, 0] = sinks[at, :, None]
        weights = scores.softmax(-1)
        weights[..., LATE:, 0] = 0
        return weights

    return change


def by_text(losses: Tensor) -> list[float]:
    """Return the mean over texts and its standard error."""
    means = losses.mean(-1)
    return [round(means.mean().item(), 4), round(means.std().item() / len(means) ** 0.5, 4)]


@torch.no_grad()
def first(folder: Path) -> dict:
    """Hide, silence and replace what stands first."""
    model = load_smollm2()
    words = " ".join(" ".join(words) for words, _ in load_treebank(folder).dev)
    ids = model.tokens(words[: 12 * LENGTH * TEXTS])[0, : 2 * TEXTS * LENGTH].unflatten(0, (-1, LENGTH))
    others, ids = ids[:TEXTS], ids[TEXTS:]
    plain, kept = read(model, ids)
    usual = model(ids)[:, LATE:-1]
    assert (F.cross_entropy(usual.mT, ids[:, LATE + 1 :], reduction="none") - plain).abs().max() < 1e-2
    share = torch.stack([one[..., LATE:, :].softmax(-1)[..., : OTHER + 1].mean((0, 2)) for one in kept])
    even = (1 / torch.arange(LATE + 1, LENGTH + 1)).mean().item()
    sinks = torch.stack([one[..., LATE:, 0].mean((0, 2)) for one in read(model, others)[1]])
    changes = {
        "the first is hidden": hiding(0),
        f"the one at place {OTHER} is hidden": hiding(OTHER),
        "the first is silent": silencing(0),
        f"the one at place {OTHER} is silent": silencing(OTHER),
        "a sink in place of the first": sinking(sinks),
        "a sink of 0 in place of the first": sinking(torch.zeros_like(sinks)),
    }
    rows = {"unchanged": by_text(plain)}
    more = {}
    for name, change in changes.items():
        losses = read(model, ids, change)[0]
        rows[name], more[name] = by_text(losses), by_text(losses - plain)
        print(name, rows[name], more[name], flush=True)
    return {
        "texts": TEXTS, "length": LENGTH, "counted from": LATE, "even share": round(even, 4),
        "share of the first": round(share[..., 0].mean().item(), 4),
        f"share of place {OTHER}": round(share[..., OTHER].mean().item(), 4),
        "heads that give it more than half": int((share[..., 0] > 0.5).sum()), "heads": share[..., 0].numel(),
        "by layer": [round(x, 3) for x in share[..., 0].mean(-1).tolist()],
        "loss": rows, "more loss, in pairs": more,
    }  # fmt: skip


# --- noise -------------------------------------------------------------------------------------------------

DISTRACTED: dict[tuple, dict] = {}
"""For each run what its layer gives to the right key."""


def questions(count: int, n: int, seed: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Draw n keys of 16 numbers with a value of 8 each, and the noisy key of one of them.

    Returns:
        Queries (count, 1, 24), tokens (count, n, 24), the right places (count,) and values (count,).
    """
    draw = torch.Generator().manual_seed(seed)
    keys = 4 * F.normalize(torch.randn(count, n, 16, generator=draw), dim=-1)
    values, places = torch.randint(8, (count, n), generator=draw), torch.randint(n, (count,), generator=draw)
    right = torch.arange(count), places
    asked = keys[right] + 0.7 * torch.randn(count, 16, generator=draw)
    tokens = torch.cat((keys, 2.0 * F.one_hot(values, 8)), -1)
    return F.pad(asked, (0, 8))[:, None], tokens, places, values[right]


class One(nn.Module):
    """A layer of attention, and a guess of the value from what it brings."""

    def __init__(self, start: float | None, subtract: bool, d_model: int, n_heads: int, d_head: int) -> None:
        super().__init__()
        self.heads = MultiHeadAttention(d_model, n_heads, d_head=d_head, bias=False, differential=start)
        self.guess = nn.Linear(d_model, 8)
        if start is not None and not subtract:  # λ = 0: the second map of each pair is not used
            for one in self.heads.difference.parameters():
                nn.init.zeros_(one).requires_grad_(False)

    def forward(self, asked: Tensor, tokens: Tensor) -> Tensor:
        """Guess the values (count, 8)."""
        return self.guess(self.heads(asked, context=tokens))[:, 0]

    @torch.no_grad()
    def share(self, asked: Tensor, tokens: Tensor, places: Tensor) -> float:
        """Return how much of all weight, counted without its sign, lies on the right key."""
        weights = self.heads(asked, context=tokens, need_weights=True)[1][:, :, 0]  # (count, heads, n)
        if self.heads.difference is not None:
            plus, minus = weights.chunk(2, 1)
            weights = plus - self.heads.difference.factor * minus
        at = places[:, None, None].expand(-1, weights.shape[1], 1)
        return (weights.gather(-1, at)[..., 0] / weights.abs().sum(-1)).mean().item()


@dataclass(frozen=True)
class Distracted:
    """A layer that is asked for one key among many; a candidate of `sweep`."""

    told: ClassVar = {"optimizer": "Adam", "examples": "texts", "counts": "the loss on 2,000 new texts"}

    start: float | None = None
    subtract: bool = True
    n: int = 64
    d_model: int = 24
    n_heads: int = 4
    d_head: int = 8
    steps: int = 1600
    every: int = 40
    batch: int = 32

    def __call__(self, rate: float, seed: int) -> Run:
        """Train once."""
        torch.manual_seed(seed)
        model, watched = One(self.start, self.subtract, self.d_model, self.n_heads, self.d_head), []
        optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=rate)
        for step in range(self.steps):
            asked, tokens, _, wanted = questions(self.batch, self.n, seed * self.steps + step)
            loss = F.cross_entropy(model(asked, tokens), wanted)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            watched.append(loss.item())
        curve = torch.tensor(watched).unflatten(0, (-1, self.every)).mean(-1).tolist()
        found: dict = {"numbers": sum(p.numel() for p in model.parameters() if p.requires_grad)}
        with torch.no_grad():
            for n in (self.n, 4 * self.n):
                asked, tokens, places, wanted = questions(2000, n, -1 - n)
                guess = model(asked, tokens)
                found[n] = {
                    "share": model.share(asked, tokens, places),
                    "right": (guess.argmax(-1) == wanted).float().mean().item(),
                    "loss": F.cross_entropy(guess, wanted).item(),
                }
            if self.start is not None:
                found["factor"] = model.heads.difference.factor.item()
        DISTRACTED[self.start, self.subtract, rate, seed] = found
        return Run(curve, every=self.every, value=found[self.n]["loss"])


def noise(folder: Path) -> dict:
    """Train layers with and without the difference, ten seeds each."""
    rows = {
        "four heads": Distracted(),
        "two pairs, nothing taken away": Distracted(0.0, subtract=False),
        "two pairs, differences from 0.2": Distracted(0.2),
        "two pairs, differences from 0.8": Distracted(0.8),
    }
    swept = sweep(rows, rates=around(0.004, n=3), seeds=SEEDS, goal="low", scout=1, flat=0.02, measure="loss")
    print(swept.as_table(), flush=True)
    shares = {}
    for name, row in rows.items():
        runs = [DISTRACTED[row.start, row.subtract, swept[name].rate, seed] for seed in SEEDS]
        shares[name] = {"numbers": runs[0]["numbers"]}
        for n in (row.n, 4 * row.n):
            for key in "share", "right", "loss":
                each = torch.tensor([run[n][key] for run in runs])
                shares[name][f"{key}, {n} keys"] = [round(each.mean().item(), 4), round(each.std().item(), 4)]
        if row.start is not None:
            each = torch.tensor([run["factor"] for run in runs])
            shares[name]["factor"] = [round(each.mean().item(), 4), round(each.std().item(), 4)]
        print(name, shares[name], flush=True)
    return {"sweeps": {"noise": swept}, "found": shares}


# --- cost --------------------------------------------------------------------------------------------------


def cost(folder: Path) -> dict:
    """Time attention beside a sink, with and without the backward pass."""
    out: dict = {"shape": {"batch": 1, "heads": 8, "d_head": 64}, "seconds": {}, "ratios": {}}
    for n in (256, 1024, 2048):
        inputs = [torch.randn(1, 8, n, 64) for _ in range(3)]
        sinks = torch.randn(8)
        for backward in (False, True):
            leaves = [x.clone().requires_grad_(backward) for x in inputs]
            given = sinks.clone().requires_grad_(backward)

            def run(backward=backward, leaves=leaves, **options):
                got = attention(*leaves, is_causal=True, **options)
                got = got[0] if isinstance(got, tuple) else got
                if backward:
                    got.sum().backward()

            timed = compare(
                {
                    "no sink": run,
                    "a sink": lambda run=run, given=given: run(sinks=given),
                    "a sink, weights stored": lambda run=run, given=given: run(
                        sinks=given, need_weights=True
                    ),
                },
                repeats=7,
                clock=time.process_time,
            )
            key = f"{n}, forward and backward" if backward else f"{n}, forward"
            out["seconds"][key] = timed.summary()
            out["ratios"][key] = {
                "over no sink": round(timed.ratio("a sink", "no sink"), 3),
                "stored over fused": round(timed.ratio("a sink, weights stored", "a sink"), 3),
            }
            print(key, out["ratios"][key], flush=True)
    return out


PARTS = {"first": first, "noise": noise, "cost": cost}


def main() -> None:
    """Measure and store."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--data", type=Path, help="folder of the treebank")
    arguments.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    arguments.add_argument("--trial", action="store_true", help="store nothing")
    given = arguments.parse_args()
    torch.set_num_threads(1)
    if not given.trial:
        results.begin()
    for part in given.only:
        numbers = PARTS[part](given.data)
        if given.trial:
            print({key: value for key, value in numbers.items() if key != "sweeps"})
        else:
            seeds = SEEDS if part == "noise" else None
            results.store(
                f"tamed-{part}", numbers, command="python benchmarks/tamed.py --data FOLDER", seeds=seeds
            )


if __name__ == "__main__":
    main()
