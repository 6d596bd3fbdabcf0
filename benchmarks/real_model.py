"""Measure the two real models: what heads do, what is lost without them, and what explains an answer.

    python benchmarks/real_model.py --data FOLDER [PART ...]

The parts are tour, ablation, explanation, induction, copying and paths, all unless some are named; each
writes results/real-model-PART.json. `copying` and `paths` read what `induction` found. FOLDER holds the
treebank, whose dev set lends its sentences. A few minutes on one thread. The part `figure`, when named,
writes the weights that the figure shows.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import random
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import torch
from torch import Tensor

from attnbook import results, tour
from attnbook.tagging import load_treebank
from attnbook.tour import definitions
from attnbook.tour.inside import hidden_states, layers_of, means, replaced
from attnbook.widgets.inside import STORED, pack
from attnlab.pretrained import load_minilm, load_smollm2, sentence_vector

COMMAND = "python benchmarks/real_model.py --data FOLDER"
PACKAGES = ("tokenizers", "gguf", "safetensors")
PERIOD = 24
STEPS = 20


def spread(x: Tensor) -> list[float]:
    """Return mean and standard error over the first axis of a vector."""
    return [round(x.mean().item(), 5), round((x.std() / len(x) ** 0.5).item(), 5)]


def best(x: Tensor, control: Tensor) -> dict:
    """Choose a head on every second item, and say what it gets on the others, beside its control.

    Args:
        x: scores (items, layers, heads).
        control: the same, of the control.
    """
    # Shuffled once: items of one kind don't all fall on one side.
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(0))
    seek, report = order[::2], order[1::2]
    gain = (x - control)[seek].mean(0)
    at = divmod(gain.flatten().argmax().item(), gain.shape[1])
    others = x[report].mean(0).flatten().sort(descending=True).values
    return {
        "head": list(at),
        "score": spread(x[report][:, *at]),
        "control": spread(control[report][:, *at]),
        "gain": spread((x - control)[report][:, *at]),
        "average": round(x[report].mean().item(), 5),
        "second": round(others[1].item(), 5),
        "items": len(report),
    }


def of_treebank(folder: Path, tokens: tuple[int, int]) -> list[str]:
    """Return sentences of the dev set of 6 to 25 words, those from one number up to another."""
    texts = [" ".join(words) for words, _ in load_treebank(folder).dev if 6 <= len(words) <= 25]
    return texts[slice(*tokens)]


@torch.no_grad()
def measure_tour(folder: Path) -> dict:
    """Find the encoder's heads by their scores."""
    model = load_minilm()
    texts = of_treebank(folder, (0, 400))
    draw = random.Random(0)
    kept: dict[str, list[Tensor]] = {}

    def note(name: str, value: Tensor) -> None:
        kept.setdefault(name, []).append(value)

    for text in texts:
        words = text.split()
        weights = tour.weights_of(model, text)
        n = weights.shape[-1]
        shuffled = tour.weights_of(model, " ".join(draw.sample(words, len(words))))
        for name, at in (("previous", -1), ("next", 1)):
            note(name, tour.at_distance(weights, at, edge=1))
            # The same words in another order: a head that counts places looks there all the same.
            note(f"{name}, shuffled", tour.at_distance(shuffled, at, edge=1))
        note("CLS", weights[:, :, 1:-1, 0].mean(-1))
        note("SEP", weights[:, :, 1:-1, -1].mean(-1))
        note("even", torch.full(weights.shape[:2], 1 / n))
    scores = {name: torch.stack(rows) for name, rows in kept.items()}
    found = {name: best(scores[name], scores["even"]) for name in ("previous", "next", "CLS", "SEP")}
    for name in ("previous", "next"):
        at = tuple(found[name]["head"])
        found[name]["shuffled"] = spread(scores[f"{name}, shuffled"][:, *at])
    everywhere = {name: round(scores[name].mean().item(), 4) for name in ("CLS", "SEP", "even")}
    by_layer = {
        name: [round(x, 4) for x in scores[name].mean((0, 2)).tolist()]
        for name in ("previous", "next", "CLS")
    }
    found["same word"] = same_word(model, of_treebank(folder, (400, None)))
    found["it"] = it_means(model)
    return {
        "model": "all-MiniLM-L6-v2",
        "sentences": len(texts),
        "found": found,
        "everywhere": everywhere,
        "by layer": by_layer,
        "sinks": sinks(model, texts[:100]),
    }


@contextlib.contextmanager
def hooked(modules: Sequence[torch.nn.Module], hook: Callable, *, before: bool = False) -> Iterator[None]:
    """Hang a hook on some modules, for as long as a `with` block lasts."""
    kind = "register_forward_pre_hook" if before else "register_forward_hook"
    handles = [getattr(module, kind)(hook) for module in modules]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


@torch.no_grad()
def passed_on(model, ids: Tensor) -> tuple[Tensor, Tensor]:
    """Return the weights (layers, heads, n, n), and weight times the length of what a token passes on."""
    values: list[Tensor] = []
    with hooked(
        [layer.attention.v_proj for layer in model.stack.layers], lambda _, __, out: values.append(out)
    ):
        weights = tour.weights_of(model, ids)
    sizes = []
    for layer, value in zip(model.stack.layers, values, strict=True):
        heads = layer.attention.n_heads
        v = value[0].unflatten(-1, (heads, -1)).transpose(0, 1)  # (heads, n, d_head)
        w_o = layer.attention.out_proj.weight.unflatten(1, (heads, -1)).permute(1, 2, 0)
        sizes.append((v @ w_o).norm(dim=-1))  # (heads, n)
    return weights, weights * torch.stack(sizes)[:, :, None]


@torch.no_grad()
def sinks(model, texts: Sequence[str]) -> dict:
    """Compare how much heads look at [CLS] with how much of what they give comes from there."""
    weight, share = [], []
    for text in texts:
        weights, passed = passed_on(model, model.tokens(text)[0])
        weight.append(weights[:, :, 1:-1, 0].mean(-1))
        share.append((passed[:, :, 1:-1, 0] / passed[:, :, 1:-1].sum(-1)).mean(-1))
    weight, share = torch.stack(weight).mean(0), torch.stack(share).mean(0)
    often = weight > 0.5
    return {
        "heads": int(often.sum()),
        "weight": round(weight[often].mean().item(), 3),
        "share of what they give": round(share[often].mean().item(), 3),
    }


def same_word(model, texts: Sequence[str], items: int = 240) -> dict:
    """Score the look from a word back to its first occurrence; control: another word stands there."""
    draw = random.Random(0)
    scores, control = [], []
    single = [w for t in texts for w in t.lower().split() if w.isalpha() and model.tokens(w)[0].shape[1] == 3]
    for text in texts:
        ids = model.tokens(text)[0]
        row = ids[0].tolist()
        again = [j for j in range(2, len(row) - 1) if row[j] in row[1:j] and model.piece(row[j]).isalpha()]
        if not again:
            continue
        later = again[0]
        first = row.index(row[later], 1)
        other = ids.clone()
        other[0, first] = model.tokens(draw.choice(single))[0][0, 1]
        scores.append(tour.weights_of(model, ids)[:, :, later, first])
        control.append(tour.weights_of(model, other)[:, :, later, first])
        if len(scores) == items:
            break
    return best(torch.stack(scores), torch.stack(control))


def looks_from_it(model, questions: Sequence[tour.Question]) -> tuple[Tensor, Tensor]:
    """Return the looks from *it* to the noun that is meant, and to the other: (questions, layers, heads)."""
    right, wrong = [], []
    for question in questions:
        looks = []
        for end in question.ends:
            text = f"{question.begin} {end}."
            pieces, weights = model.pieces(text), tour.weights_of(model, text)
            at = pieces.index("it")
            looks.append([weights[:, :, at, pieces.index(noun)] for noun in question.nouns])
        (a_when_a, b_when_a), (a_when_b, b_when_b) = looks
        right.append((a_when_a + b_when_b) / 2)
        wrong.append((b_when_a + a_when_b) / 2)
    return torch.stack(right), torch.stack(wrong)


def it_means(model) -> dict:
    """Find the head that looks from *it* to the noun that is meant, and measure it on other sentences."""
    right, wrong = looks_from_it(model, tour.IT)
    at = divmod((right - wrong).mean(0).flatten().argmax().item(), right.shape[2])

    def measured(questions: Sequence[tour.Question]) -> dict:
        meant, other = looks_from_it(model, questions)
        meant, other = meant[:, *at], other[:, *at]
        return {"score": spread(meant), "control": spread(other), "gain": spread(meant - other)}

    new = (*tour.FITS_ONE, *tour.FITS_BOTH)
    words = {}
    for asks in ("it", "that", "something", "rain"):
        text = f"I like sushi because {asks} makes me happy."
        row = tour.weights_of(model, text)[(*at, model.pieces(text).index(asks))]
        rows = []
        for question in new:
            for end in question.ends:
                text = f"{question.begin} {end}.".replace(" it ", f" {asks} ")
                pieces = model.pieces(text)
                look = tour.weights_of(model, text)[(*at, pieces.index(asks))]
                rows.append(torch.stack((sum(look[pieces.index(noun)] for noun in question.nouns), look[0])))
        nouns, cls = torch.stack(rows).view(-1, 2, 2).mean(1).T
        sushi = round((row[3] + row[4]).item(), 4)  # su ##shi
        words[asks] = {"sushi": sushi, "both nouns": spread(nouns), "CLS": spread(cls)}
    average = looks_from_it(model, new)[0].mean().item()

    def nearer(questions: Sequence[tour.Question]) -> list[list[float]]:
        """Say, layer by layer, how much nearer *it* lies to the noun meant than to the other (cosine)."""
        rows = []
        for question in questions:
            near = []
            for end in question.ends:
                text = f"{question.begin} {end}."
                pieces, states = model.pieces(text), hidden_states(model, model.tokens(text)[0])[:, 0]
                nouns = states[:, [pieces.index(noun) for noun in question.nouns]]
                near.append(torch.cosine_similarity(states[:, [pieces.index("it")]], nouns, dim=-1))
            first, second = near
            rows.append((first[:, 0] - first[:, 1] + second[:, 1] - second[:, 0]) / 2)
        return [spread(layer) for layer in torch.stack(rows).T[1:]]

    def most(questions: Sequence[tour.Question]) -> float:
        """Return the largest lean of all heads, on the very questions that choose it."""
        meant, other = looks_from_it(model, questions)
        return round((meant - other).mean(0).max().item(), 5)

    return {
        "head": list(at),
        **measured(new),
        "average": round(average, 5),
        "items": len(new),
        "fits one": measured(tour.FITS_ONE),
        "fits both": measured(tour.FITS_BOTH),
        "largest lean of all heads": {"fits one": most(tour.FITS_ONE), "fits both": most(tour.FITS_BOTH)},
        "it nearer to what it means, by layer": {
            "fits one": nearer(tour.FITS_ONE),
            "fits both": nearer(tour.FITS_BOTH),
        },
        "words": words,
    }


def definition_losses(model) -> Tensor:
    """Return how surprised the model is by each right word."""
    return definitions.losses(model.embed(definitions.WORDS), model.embed(definitions.DEFINITIONS))


@torch.no_grad()
def measure_ablation(folder: Path) -> dict:
    """Remove each head of the encoder, by zero and by its mean over other text."""
    model = load_minilm()
    texts = of_treebank(folder, (0, 200))
    mean = means(model, [model.tokens(texts[at : at + 20]) for at in range(0, 200, 20)])
    whole = definition_losses(model)
    lost: dict[str, list] = {"zero": [], "mean": []}
    for layer in range(6):
        for name, rows in lost.items():
            row = []
            for head in range(12):
                fill = {(layer, head): 0.0 if name == "zero" else mean[layer, head]}
                with replaced(model, fill):
                    row.append(spread(definition_losses(model) - whole))
            rows.append(row)
    together = {}
    every = [(layer, head) for layer in range(6) for head in range(12)]
    groups = {"all": every} | {f"layer {at + 1}": [p for p in every if p[0] == at] for at in range(6)}
    groups["layers 1 to 5"] = [p for p in every if p[0] < 5]
    for title, places in groups.items():
        together[title] = {}
        for name in lost:
            fill = {at: 0.0 if name == "zero" else mean[at] for at in places}
            with replaced(model, fill):
                together[title][name] = spread(definition_losses(model) - whole)
    right = (model.embed(definitions.DEFINITIONS) @ model.embed(definitions.WORDS).mT).argmax(-1)
    return {
        "model": "all-MiniLM-L6-v2",
        "items": len(whole),
        "loss": spread(whole),
        "right": int((right == torch.arange(len(whole))).sum()),
        "chance": round(math.log(len(whole)), 4),
        "lost": lost,
        "together": together,
        "texts for the mean": 200,
    }


def rank_correlation(a: Tensor, b: Tensor) -> float:
    """Return Spearman's correlation; ties get their mean rank."""

    def ranks(x: Tensor) -> Tensor:
        return ((x[:, None] > x).sum(1) + (x[:, None] >= x).sum(1)).double()

    both = torch.stack((ranks(a), ranks(b)))
    both = both - both.mean(1, keepdim=True)
    size = both.norm(dim=1).prod()
    return (both[0] @ both[1] / size).item() if size else 0.0


def reasons(model, text: str, word: Tensor) -> dict[str, dict[str, Tensor]]:
    """Give each piece of a text its share in how near the text is to a word, in several ways (pieces,).

    Returns:
        "drop", how much less near the text lies to the word without each piece; "turn", how far its vector
        turns, whichever way; both by how the piece is taken away. "share": what else may tell how it matters.
    """

    def vector(ids: Tensor, key_mask: Tensor | None = None) -> Tensor:
        return sentence_vector(model(ids, key_mask=key_mask), torch.ones_like(ids, dtype=torch.bool))

    ids = model.tokens(text)[0]
    n = ids.shape[1]
    vectors = model.embedding(ids).detach()

    def slope_at(x: Tensor) -> Tensor:
        x = x.detach().requires_grad_()
        near_it = sentence_vector(model.read(x), torch.ones(x.shape[:2], dtype=torch.bool)) @ word
        return torch.autograd.grad(near_it.sum(), x)[0]

    slope = slope_at(vectors)
    # The slopes on the straight way from a text of nothing but [MASK] to this one.
    empty = vectors.clone()
    empty[0, 1:-1] = model.embedding.weight[model.tokenizer.token_to_id("[MASK]")].detach()
    along = (torch.arange(STEPS)[:, None, None] + 0.5) / STEPS
    steps = slope_at(empty + along * (vectors - empty))
    with torch.no_grad():
        whole = vector(ids)[0]
        weights, passed = passed_on(model, ids)
        flow = torch.eye(n)
        for layer in weights.mean(1):
            flow = (layer + torch.eye(n)) / 2 @ flow
        here = torch.eye(n, dtype=torch.bool)[1:-1]  # (pieces, n): a text for each piece
        copies = ids.expand(n - 2, n)
        without = {
            "left out": vector(copies[~here].view(n - 2, n - 1)),
            "replaced by [MASK]": vector(copies.masked_fill(here, model.tokenizer.token_to_id("[MASK]"))),
            "nobody may look at it": vector(copies, ~here),
        }
        alone = torch.stack((ids[0, :1].expand(n - 2), ids[0, 1:-1], ids[0, -1:].expand(n - 2)), 1)
        near = vector(alone) @ whole
    share = {
        "gradient · vector": (slope * vectors).sum(-1)[0, 1:-1].detach(),
        "gradients, integrated": (steps.mean(0) * (vectors - empty)).sum(-1)[0, 1:-1],
        "size of the gradient": slope.norm(dim=-1)[0, 1:-1],
        "weight, all layers": weights.mean((0, 1, 2))[1:-1],
        **{f"weight, layer {at + 1}": weights[at].mean((0, 1))[1:-1] for at in range(len(weights) - 1)},
        "weight, last layer": weights[-1].mean((0, 1))[1:-1],
        "weight · value, last layer": passed[-1].mean((0, 1))[1:-1],
        "weight, rolled out": flow.mean(0)[1:-1],
        "how rare the piece is": ids[0, 1:-1].double(),
        "its vector, read alone": near,  # no weights
    }
    return {
        "drop": {name: (whole - x) @ word for name, x in without.items()},
        "turn": {name: 1 - x @ whole for name, x in without.items()},
        "share": share,
    }


def measure_explanation(_: Path) -> dict:
    """Compare weights and gradients with what leaving a word out does."""
    model = load_minilm()
    with torch.no_grad():
        words = model.embed(definitions.WORDS)
    found: dict[str, dict[str, list[float]]] = {}
    even, below = [], []
    draw = torch.Generator().manual_seed(0)
    for text, word in zip(definitions.DEFINITIONS, words, strict=True):
        given = reasons(model, text, word)
        n = len(given["drop"]["left out"])
        if n < 5:
            continue
        even.append(1 / n)
        below.append((given["drop"]["left out"] < 0).double().mean().item())
        at_random = [torch.rand(n, generator=draw) for _ in range(100)]
        # Known exactly, yet without a sign: what a share of how far can say at best.
        given["drop"]["how far, known exactly"] = given["turn"]["left out"]
        # And the effect itself without its sign: no share without one that knows the sizes says more.
        given["drop"]["its size, known exactly"] = given["drop"]["left out"].abs()
        for kind, ending in (("drop", ""), ("turn", ", turn")):
            effect = given[kind].pop("left out")
            named = {name: [value] for name, value in (given[kind] | given["share"]).items()}
            for name, values in (named | {"drawn at random": at_random}).items():
                rank = sum(rank_correlation(value, effect) for value in values) / len(values)
                top = sum(float(value.argmax() == effect.argmax()) for value in values) / len(values)
                found.setdefault("rank" + ending, {}).setdefault(name, []).append(rank)
                found.setdefault("top" + ending, {}).setdefault(name, []).append(top)
    told = {key: {name: spread(torch.tensor(x)) for name, x in rows.items()} for key, rows in found.items()}
    return {
        "model": "all-MiniLM-L6-v2",
        "items": len(even),
        **told,
        "chance": round(sum(even) / len(even), 4),
        "drops below zero": round(sum(below) / len(below), 4),
        "forbidden": forbidden(model),
    }


@torch.no_grad()
def forbidden(model) -> dict:
    """Say how far a text's vector moves if nobody may look at one token, beside how much it is looked at.

    And, to tell two causes apart, if all may look at it, but what it passes on is zero in every layer: its
    weight then stays where it is.
    """
    rows: dict[str, list[tuple[float, float, float]]] = {"[CLS]": [], "[SEP]": [], "a word": []}
    values = [layer.attention.v_proj for layer in model.stack.layers]
    for text in definitions.DEFINITIONS:
        ids = model.tokens(text)[0]
        n = ids.shape[1]
        real = torch.ones_like(ids, dtype=torch.bool)
        whole = sentence_vector(model(ids), real)[0]
        looked = tour.weights_of(model, ids).mean((0, 1, 2))
        here = torch.eye(n, dtype=torch.bool)  # a text for each token
        copies, all_real = ids.expand(n, n), real.expand(n, n)
        moved = (1 - sentence_vector(model(copies, key_mask=~here), all_real) @ whole).tolist()
        with hooked(values, lambda _, __, out, at=here[..., None]: out.masked_fill(at, 0.0)):
            silent = (1 - sentence_vector(model(copies), all_real) @ whole).tolist()
        for name, part in (("[CLS]", slice(1)), ("[SEP]", slice(n - 1, n)), ("a word", slice(1, n - 1))):
            each = (looked[part].tolist(), moved[part], silent[part])
            rows[name].append(tuple(sum(x) / len(x) for x in each))
    out = {}
    for name, triples in rows.items():
        looked, moved, silent = torch.tensor(triples).T
        out[name] = {"weight": spread(looked), "moved": spread(moved), "moved, values zero": spread(silent)}
    return out


def rounds(count: int, seed: int) -> tuple[Tensor, Tensor]:
    """Draw texts of two rounds (count, 2 · PERIOD): the same pieces again; and, to compare, other pieces."""
    generator = torch.Generator().manual_seed(seed)
    first, other = (torch.randint(1000, 40000, (count, PERIOD), generator=generator) for _ in range(2))
    return torch.cat((first, first), 1), torch.cat((first, other), 1)


@torch.no_grad()
def measure_induction(folder: Path) -> dict:
    """Find the heads that look at what came next last time, and what they live on."""
    model = load_smollm2()
    again, other = rounds(16, seed=0)
    seek = [tour.after_last_time(tour.weights_of(model, row[None]), PERIOD) for row in again]
    control = [tour.after_last_time(tour.weights_of(model, row[None]), PERIOD) for row in other]
    back = torch.stack([tour.at_distance(tour.weights_of(model, row[None]), -1) for row in other])
    score, control = torch.stack(seek), torch.stack(control)
    # Chosen on eight texts; all that follows is measured on eight others.
    order = (score - control)[:8].mean(0).flatten().argsort(descending=True)[:8].tolist()
    heads = [divmod(at, 9) for at in order]
    behind = [divmod(at, 9) for at in back[:8].mean(0).flatten().argsort(descending=True)[:4].tolist()]
    texts = again[8:]
    prose = [model.tokens(text) for text in of_treebank(folder, (0, 32))]
    mean = means(model, [(ids, None) for ids in (again[:8], other[:8], *prose[:20])])

    def losses(fill: dict) -> dict:
        with replaced(model, fill):
            guess = model(texts)[:, :-1].log_softmax(-1)
            each = -guess.gather(-1, texts[:, 1:, None])[..., 0]
            real = []
            for ids in prose[20:]:
                real.append(-model(ids)[0, :-1].log_softmax(-1).gather(-1, ids[0, 1:, None]).mean())
        return {
            "first round": spread(each[:, : PERIOD - 1].mean(1)),
            "second round": spread(each[:, PERIOD:].mean(1)),
            "guessed right": spread((guess.argmax(-1) == texts[:, 1:])[:, PERIOD:].float().mean(1)),
            "prose": spread(torch.stack(real)),
        }

    def scores() -> Tensor:
        rows = [tour.after_last_time(tour.weights_of(model, row[None]), PERIOD) for row in texts]
        return torch.stack(rows).mean(0)

    groups = {"none": [], "the eight": heads, "the word before: " + tour.names(behind[:1]): behind[:1]}
    groups |= {"the word before: " + tour.names([at]): [at] for at in behind[1:]}
    draw = random.Random(0)
    for at in range(4):  # as many others, in the same layers
        picked = []
        for layer, _ in heads:
            rest = [(layer, h) for h in range(9) if (layer, h) not in (*heads, *behind, *picked)]
            picked.append(draw.choice(rest))
        groups[f"eight others ({at + 1})"] = picked
    for at in range(4):
        layer = behind[0][0]
        rest = [(layer, h) for h in range(9) if (layer, h) not in (*heads, *behind)]
        groups[f"one other, beside {tour.names(behind[:1])} ({at + 1})"] = [rest[at]]
    removed = {}
    for title, places in groups.items():
        removed[title] = {"heads": [list(at) for at in places]}
        for how in ("zero", "mean"):
            removed[title][how] = losses({at: 0.0 if how == "zero" else mean[at] for at in places})
    whole = scores()
    without = {}
    for at in behind:
        with replaced(model, {at: mean[at]}):
            now = scores()
        without[tour.names([at])] = [round(now[head].item(), 3) for head in heads]
    return {
        "model": "SmolLM2-135M-Instruct",
        "period": PERIOD,
        "texts": len(texts),
        "heads": [
            {
                "head": list(at),
                "score": spread(score[8:][:, *at]),
                "control": spread(control[8:][:, *at]),
                "without": {name: row[k] for name, row in without.items()},
                "whole": round(whole[at].item(), 3),
            }
            for k, at in enumerate(heads)
        ],
        "average": round(score[8:].mean().item(), 4),
        "behind": [{"head": list(at), "score": spread(back[8:][:, *at])} for at in behind],
        "removed": removed,
    }


@torch.no_grad()
def measure_copying(folder: Path) -> dict:
    """Count right guesses in the second round, of random pieces and of sentences, without some heads."""
    model = load_smollm2()
    found = results.load("real-model-induction")
    again, other = rounds(16, seed=0)
    prose = [model.tokens(text) for text in of_treebank(folder, (0, 20))]
    mean = means(model, [(ids, None) for ids in (again[:8], other[:8], *prose)])
    sentences = [model.tokens(text) for text in of_treebank(folder, (32, 56))]
    generator = torch.Generator().manual_seed(0)
    shuffled = [ids[:, torch.randperm(ids.shape[1], generator=generator)] for ids in sentences]
    kinds = {
        "random pieces": rounds(24, seed=2)[0][:, None, :PERIOD],
        "sentences": sentences,
        "shuffled": shuffled,
    }

    def right(ids: Tensor) -> tuple[Tensor, Tensor]:
        """Tell which pieces (1, n), but the first, are guessed right in either round: (n - 1,) each."""
        n = ids.shape[1]
        twice = torch.cat((ids, ids), 1)
        hit = (model(twice)[0, :-1].argmax(-1) == twice[0, 1:]).float()
        return hit[: n - 1], hit[n:]

    def counted(texts: Sequence[Tensor]) -> dict:
        pairs = [right(ids) for ids in texts]
        return {
            "first": spread(torch.stack([first.mean() for first, _ in pairs])),
            "second": spread(torch.stack([second.mean() for _, second in pairs])),
        }

    removed_there = found["removed"]
    others = [name for name in removed_there if name.startswith("eight others")]
    worst = min(others, key=lambda name: removed_there[name]["mean"]["guessed right"][0])
    heads = [tuple(row["head"]) for row in found["heads"]]
    one_layer = [at for at in heads if at[0] == heads[1][0]]
    groups = {"none": [], "the eight": heads, "eight others": removed_there[worst]["heads"]}
    groups |= {
        tour.names([at]): [at] for at in (*(tuple(row["head"]) for row in found["behind"][:2]), heads[1])
    }
    groups[f"of layer {heads[1][0] + 1}"] = one_layer
    removed = {}
    for title, places in groups.items():
        with replaced(model, {tuple(at): mean[tuple(at)] for at in places}):
            removed[title] = {kind: counted(texts) for kind, texts in kinds.items()}
    return {"model": "SmolLM2-135M-Instruct", "texts": len(sentences), "period": PERIOD, "removed": removed}


@torch.no_grad()
def measure_paths(_: Path) -> dict:
    """Hide what one head wrote from the keys above it alone, or the queries, or the values.

    The layers above read a stream in which that head's part is its mean; all else in it is as it is in this
    run. `everything` is the head's removal: there the layers above react to it, and to each other.
    """
    model = load_smollm2()
    found = results.load("real-model-induction")
    heads = [tuple(row["head"]) for row in found["heads"]]
    at = tuple(found["behind"][0]["head"])
    again, other = rounds(16, seed=0)
    random_pieces = rounds(24, seed=2)[0]  # those of measure_copying
    mean = means(model, [(again[:8], None), (other[:8], None)])[at]
    layers = layers_of(model)
    source = layers[at[0]].attention
    w_o = source.out_proj.weight.unflatten(1, (source.n_heads, -1))[:, at[1]]  # (d_model, d_head)

    def scores() -> Tensor:
        rows = [tour.after_last_time(tour.weights_of(model, row[None]), PERIOD) for row in again[8:]]
        return torch.stack(rows)

    def copied() -> list[float]:
        rows = []
        for ids in random_pieces.split(8):
            hit = model(ids)[:, :-1].argmax(-1) == ids[:, 1:]
            rows.append(hit[:, PERIOD:].float().mean(1))
        return spread(torch.cat(rows))

    @contextlib.contextmanager
    def hidden(name: str, above: Sequence[torch.nn.Module]) -> Iterator[None]:
        said: dict[str, Tensor] = {}

        def listen(_, x: tuple[Tensor]) -> None:
            said["too much"] = (x[0].unflatten(-1, (source.n_heads, -1))[:, :, at[1]] - mean) @ w_o.T

        def enter(_, x: tuple[Tensor]) -> None:
            said["stream"] = x[0]

        def less(layer: torch.nn.Module) -> Callable:
            return lambda _, __: (layer.attention_norm(said["stream"] - said["too much"]),)

        with contextlib.ExitStack() as stack:
            stack.enter_context(hooked([source.out_proj], listen, before=True))
            stack.enter_context(hooked(above, enter, before=True))
            for layer in above:
                part = getattr(layer.attention, f"{name[0]}_proj")
                stack.enter_context(hooked([part], less(layer), before=True))
            yield

    above = layers[at[0] + 1 :]
    looks, right = {}, {"nothing hidden": copied()}
    with replaced(model, {at: mean}):
        looks["everything"], right["everything"] = scores(), copied()
    for name in ("keys", "queries", "values"):
        with hidden(name, above):
            looks[name], right[name] = scores(), copied()
    for count in (1, 2):
        with hidden("keys", above[:count]):
            right[f"keys of the first {count} above"] = copied()
    return {
        "model": "SmolLM2-135M-Instruct",
        "texts": 8,
        "hidden": list(at),
        "heads": [
            {"head": list(to)} | {name: spread(x[:, *to]) for name, x in looks.items()} for to in heads
        ],
        "texts copied": len(random_pieces),
        "copied": right,
    }


FIGURE = (
    "I saw a saw.",
    "The dog ate the bone because it was hungry.",
    "The dog ate the bone because it was tasty.",
    "I like sushi because it makes me happy.",
    "The river is wide, and the bridge over the river is old.",
)
COPIES = " lamp river king bread train" * 3


@torch.no_grad()
def write_figure() -> None:
    """Write the weights that the figure of the chapter shows."""
    reader, writer = load_minilm(), load_smollm2()
    texts = [*(pack(reader, text) for text in FIGURE), pack(writer, COPIES)]
    STORED.write_text(json.dumps(texts, ensure_ascii=False) + "\n", encoding="utf-8")
    print(STORED.stat().st_size, "bytes")


PARTS: dict[str, Callable[[Path], dict]] = {
    "tour": measure_tour,
    "ablation": measure_ablation,
    "explanation": measure_explanation,
    "induction": measure_induction,
    "copying": measure_copying,
    "paths": measure_paths,
}


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with the treebank's files")
    parser.add_argument("parts", nargs="*", default=list(PARTS), help=", ".join(PARTS))
    given = parser.parse_args()
    torch.set_num_threads(1)
    results.begin()
    for part in given.parts:
        start = time.time()
        if part == "figure":
            write_figure()
            continue
        results.store(f"real-model-{part}", PARTS[part](given.data), command=COMMAND, packages=PACKAGES)
        print(part, f"{time.time() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
