"""What the page trains is what torch trains: weights, batches, gradients and steps, for all choices."""

import itertools
import json
import math
import subprocess
from pathlib import Path

import pytest
import torch

from attnbook.tagging import grammar
from attnbook.tagging.views import Design
from attnbook.widgets import training
from attnbook.widgets.playground import VIEWS

HERE = Path(__file__).parent


def combinations():
    """Yield every combination of the choices, at the smallest width with pairs for four heads."""
    always = {"d_model": 8, "n_heads": 2, "divide": "root"}
    kinds = [
        *itertools.product(["alone", "mean"], ["none", "sinusoidal", "learned"]),
        *itertools.product(
            ["attention", "causal attention"], ["none", "sinusoidal", "learned", "rotary", "alibi"]
        ),
    ]
    for (context, positions), layers, residual in itertools.product(kinds, (1, 2), (True, False)):
        choices = {**always, "context": context, "positions": positions, "n_layers": layers}
        choices["residual"] = residual
        if "attention" not in context:
            yield choices
            continue
        for heads, divide in itertools.product((1, 2, 4), ("root", "width", "nothing")):
            yield choices | {"n_heads": heads, "divide": divide}
    for layers, more in itertools.product(
        ([[-1]], [[-2, 1]], [[]], [[-1], [1, 2]], [[3, -1], [-2]]),
        (
            {"told": True},
            {"told": False},
            {"told": True, "nearest": 2},
            {"told": False, "nearest": 3},
            {"mix": "mean"},
            {"mix": "mean", "nearest": 2},
        ),
    ):
        design = {"layers": layers, **more}
        yield {**always, **torch_choices({"design": design}), "design": design, "residual": True}


def torch_choices(choices):
    """Return the choices with their design as the package has it."""
    if "design" not in choices:
        return choices
    given = choices["design"]
    return choices | Design(**given | {"layers": tuple(map(tuple, given["layers"]))}).tagger_choices()


def cases():
    """List gradients of every combination, and ten steps of some that have all choices among them."""
    every = list(combinations())
    gradients = [
        {"choices": choices, "seed": at, "batch": 5, "steps": 0, "rate": 0.01, "parts": 1 + at % 3}
        for at, choices in enumerate(every)
    ]
    trained = [
        {"choices": {**choices, "d_model": 16}, "seed": at, "batch": 9, "steps": 10, "rate": 0.01, "parts": 1}
        for at, choices in enumerate(every[::23])
    ]
    return gradients + trained


@pytest.fixture(scope="module")
def in_the_page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("train")
    (folder / "cases.json").write_text(json.dumps(cases()))
    command = ["node", str(HERE / "train_dump.mjs"), str(folder / "cases.json"), str(folder)]
    subprocess.run(command, check=True)
    numbers = torch.frombuffer(bytearray((folder / "numbers.bin").read_bytes()), dtype=torch.float64)
    found, at = [], 0
    dumped = json.loads((folder / "about.json").read_text())
    assert dumped["grammar"] == json.loads(
        json.dumps({key: getattr(grammar, key) for key in dumped["grammar"]})
    )
    assert set(dumped["ceilings"]) == set(VIEWS)
    for view, known in dumped["ceilings"].items():
        assert known["accuracy"] == pytest.approx(100 * float(grammar.ceiling(view)), abs=5e-5)
        assert known["loss"] == pytest.approx(grammar.entropy(view), abs=5e-7)
    for given, about in zip(cases(), dumped["about"], strict=True):
        size = sum(math.prod(shape) for _, shape in about["shapes"])
        values, slopes, after = numbers[at : at + 3 * size].chunk(3)
        found.append((given, about, values, slopes, after))
        at += 3 * size
    assert at == numbers.numel()
    return found


def flat(tensors):
    return torch.cat([tensor.detach().flatten() for tensor in tensors])


def batch_of(rows):
    return [(tuple(words), tuple(tags)) for words, tags in rows]


def gap(got, want):
    """Return the largest difference, relative to numbers that are larger than one."""
    return ((got - want).abs() / want.abs().clamp_min(1)).max().item()


def test_every_combination_has_torchs_names_weights_batches_loss_and_gradient(in_the_page):
    tried = 0
    for given, about, values, slopes, _ in in_the_page:
        tagger = training.build(given["seed"], **torch_choices(given["choices"]))
        named = list(tagger.named_parameters())
        assert [[name, list(value.shape)] for name, value in named] == about["shapes"], given
        assert gap(values, flat(value for _, value in named)) < 1e-14, given
        rows = itertools.islice(training.sentences(given["seed"]), given["batch"])
        assert batch_of(about["batches"][0]) == list(rows), given
        loss = training.loss(tagger, batch_of(about["batches"][0]))
        assert about["losses"][0] == pytest.approx(loss.item(), abs=1e-12), given
        loss.backward()
        # Where nothing depends on a parameter, torch has no gradient for it.
        want = flat(torch.zeros_like(p) if p.grad is None else p.grad for p in tagger.parameters())
        assert want.norm() > 1e-3, given
        assert gap(slopes, want) < 1e-10, given
        tried += 1
    assert tried > 384


def test_ten_steps_of_adam_are_torchs(in_the_page):
    trained = [case for case in in_the_page if case[0]["steps"]]
    chosen = [case[0]["choices"] for case in trained]
    assert len(trained) >= 15
    for choice in ("context", "positions", "n_heads", "n_layers", "divide", "residual"):
        assert {str(choices[choice]) for choices in chosen} == {str(c[choice]) for c in combinations()}, (
            choice
        )
    for given, about, _, _, after in trained:
        tagger = training.build(given["seed"], **torch_choices(given["choices"]))
        losses = training.train(
            tagger, given["seed"], steps=given["steps"], lr=given["rate"], batch_size=given["batch"]
        )
        assert about["losses"][:-1] == pytest.approx(losses, abs=1e-9), given
        assert gap(after, flat(tagger.parameters())) < 1e-8, given
        assert losses[-1] < losses[0]
