"""Train attention in the page, from random weights, and watch it stop at the ceiling of what it sees."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
import traitlets

from attnbook.tables import table_of
from attnbook.tagging import grammar
from attnbook.tagging.taggers import Tagger
from attnbook.widgets import training
from attnbook.widgets.figure import STATIC, Figure, flag

DEFAULTS: dict[str, Any] = {
    "context": "attention",
    "positions": "none",
    "n_heads": 2,
    "d_model": 32,
    "n_layers": 1,
    "divide": "root",
    "residual": True,
    "rate": 0.01,
    "batch": 32,
}
"""What a run is made of unless one chooses otherwise."""
OFFERED: dict[str, tuple] = {
    "context": ("alone", "mean", "attention", "causal attention"),
    "positions": ("none", "sinusoidal", "learned", "rotary", "alibi"),
    "n_heads": (1, 2, 4),
    "d_model": (8, 16, 32, 64),
    "n_layers": (1, 2),
    "divide": ("root", "width", "nothing"),
    "residual": (True, False),
    "batch": (8, 16, 32, 64, 128),
}
PANELS = ("", "challenges", "words", "gradient", "numbers")
"""What may be open below the curves."""
VIEWS = (
    "word",
    "word and position",
    "bag of words",
    "everything before",
    "both neighbours",
    "whole sentence",
)
"""The ceilings that the figure draws."""


class Playground(Figure):
    """Train one tagger of the toy grammar, or two side by side, in the page: no kernel takes part.

    In a live notebook the trained weights come back: `tagger("a")` is the tagger as it stands, once training
    is paused and the figure has counted.

    Args:
        a: choices of the first run, where they differ from attention without positions: context, positions,
            n_heads, d_model, n_layers, divide ("root", "width" or "nothing"), residual, rate, batch.
        b: choices of a second run beside it; none unless given.
        seed: of the weights and the batches, 0 or larger.
        text: words of the grammar, whose attention is drawn.
        panel: what is open below: "challenges", "words" (which go wrong), "gradient", "numbers", or nothing.
        only: whether the runs are there to be trained and nothing else: the figure says what they are made
            of, and offers no other choices and no panels.

    Raises:
        TypeError: only is not a bool.
        ValueError: a choice is unknown or does not fit; the message names it.

    >>> figure = Playground({"positions": "rotary"})
    >>> figure.a["positions"], figure.a["d_model"], figure.steps_a
    ('rotary', 32, 0)
    >>> figure.tagger("a").context
    'attention'
    """

    _esm = STATIC / "playground.js"
    name = "playground"
    state = ("a", "b", "seed", "text", "panel")
    a = traitlets.Dict().tag(sync=True)
    b = traitlets.Dict(allow_none=True).tag(sync=True)
    seed = traitlets.Int(0).tag(sync=True)
    text = traitlets.Unicode().tag(sync=True)
    panel = traitlets.Unicode("").tag(sync=True)
    only = traitlets.Bool(False).tag(sync=True)
    steps_a = traitlets.Int(0).tag(sync=True)
    steps_b = traitlets.Int(0).tag(sync=True)
    weights_a = traitlets.Bytes().tag(sync=True)
    weights_b = traitlets.Bytes().tag(sync=True)

    def __init__(
        self,
        a: Mapping[str, Any] | None = None,
        b: Mapping[str, Any] | None = None,
        *,
        seed: int = 0,
        text: str = "I saw a saw",
        panel: str = "",
        only: bool = False,
    ) -> None:
        if seed < 0:
            raise ValueError(f"seed must be 0 or larger, got {seed}")
        if panel not in PANELS:
            raise ValueError(f"panel must be {', '.join(PANELS[1:])}, or empty; got {panel!r}")
        if flag("only", only) and panel:
            raise ValueError(f"where runs are there to be trained only, no panel is open; got {panel!r}")
        runs = {"a": checked(a or {}, "a"), "b": None if b is None else checked(b, "b")}
        super().__init__(**runs, seed=seed, text=text, panel=panel, only=only)

    def tagger(self, run: str = "a") -> Tagger:
        """Return a run's tagger with the weights it had when training was last paused.

        Args:
            run: "a" or "b".

        Returns:
            A tagger, float64: with the random weights of the beginning, if nothing was trained yet.

        Raises:
            ValueError: there is no such run.
        """
        choices = {"a": self.a, "b": self.b}.get(run)
        if not choices:
            raise ValueError(f"run must be 'a', or 'b' where there is a second one; got {run!r}")
        tagger = training.build(self.seed, **{k: v for k, v in choices.items() if k not in ("rate", "batch")})
        weights = getattr(self, f"weights_{run}")
        if weights:
            values = torch.frombuffer(bytearray(weights), dtype=torch.float64)
            torch.nn.utils.vector_to_parameters(values, tagger.parameters())
        return tagger

    def table(self) -> str:
        """Return the choices of the runs, and the ceilings with the least loss that leads there."""
        runs = [run for run in (self.a, self.b) if run]
        chosen = [[key, *(str(run[key]) for run in runs)] for key in DEFAULTS]
        ceilings = [
            [view, f"{100 * float(grammar.ceiling(view)):.2f} %", f"{grammar.entropy(view):.3f}"]
            for view in VIEWS
        ]
        return table_of(["run", *"AB"[: len(runs)]], chosen) + table_of(
            ["what is seen", "right at best", "least loss, nats a word"], ceilings
        )

    def caption(self) -> str:
        """Return what the figure shows, and how its upright axis is stretched."""
        return (
            "Each run as it trains, beside the best that is possible. "
            "A step up as high as from 50 % to 75 % halves the errors, wherever it starts."
        )


def checked(given: Mapping[str, Any], run: str) -> dict[str, Any]:
    """Complete some choices, or say what is wrong with them.

    Args:
        given: those that differ from `DEFAULTS`.
        run: the name of the run, for the message.

    Raises:
        ValueError: a choice is unknown or does not fit.

    >>> checked({"positions": "rotary"}, "a")["d_model"]
    32
    """
    unknown = set(given) - set(DEFAULTS)
    if unknown:
        raise ValueError(f"{run} must hold {', '.join(DEFAULTS)}; got {', '.join(sorted(unknown))}")
    choices = DEFAULTS | dict(given)
    for key, values in OFFERED.items():
        if choices[key] not in values:
            raise ValueError(f"{key} of {run} must be {', '.join(map(str, values))}; got {choices[key]!r}")
    if not 0 < choices["rate"] <= 1:
        raise ValueError(f"rate of {run} must be larger than 0 and at most 1, got {choices['rate']}")
    if choices["positions"] in ("rotary", "alibi") and "attention" not in choices["context"]:
        raise ValueError(
            f"{choices['positions']} positions of {run} act inside attention; "
            f"its context is {choices['context']!r}"
        )
    return choices
