"""Design your own attention: paint who sees whom, read how good it can be and what it costs, train it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
import traitlets

from attnbook.tables import table_of
from attnbook.tagging import views
from attnbook.tagging.taggers import Tagger
from attnbook.widgets import training
from attnbook.widgets.figure import STATIC, Figure

PANELS = ("", "challenges", "tried", "numbers")
"""What may be open below."""


class AttentionDesign(Figure):
    """Paint whom a word sees, and read at once the best accuracy of any such attention, exactly.

    In a live notebook the trained weights come back: `tagger()` is the tagger as it stands, once training is
    paused and the figure has counted.

    Args:
        layers: the offsets of one layer or of two, -7 to 7; a word always sees itself.
        told: whether it knows where those stand that it sees; unless given, it does, but for a mean.
        nearest: how many words a word sees at most in a layer, the nearest, itself counted; 0 for all.
        mix: "attention", or "mean", which is not told where.
        seed: of the weights and the batches, 0 or larger.
        panel: what is open below: "challenges", "tried", "numbers", or nothing.

    Raises:
        ValueError: an argument is out of its range.

    >>> figure = AttentionDesign([[-1, 1]])
    >>> figure.design().told, figure.design().sees(3, 0), figure.steps
    (True, (0, 1), 0)
    """

    _esm = STATIC / "design.js"
    name = "design"
    state = ("layers", "told", "nearest", "mix", "seed", "panel")
    layers = traitlets.List().tag(sync=True)
    told = traitlets.Bool().tag(sync=True)
    nearest = traitlets.Int().tag(sync=True)
    mix = traitlets.Unicode().tag(sync=True)
    seed = traitlets.Int(0).tag(sync=True)
    panel = traitlets.Unicode("").tag(sync=True)
    steps = traitlets.Int(0).tag(sync=True)
    weights = traitlets.Bytes().tag(sync=True)

    def __init__(
        self,
        layers: Sequence[Sequence[int]] = ((),),
        *,
        told: bool | None = None,
        nearest: int = 0,
        mix: Literal["attention", "mean"] = "attention",
        seed: int = 0,
        panel: str = "",
    ) -> None:
        if seed < 0:
            raise ValueError(f"seed must be 0 or larger, got {seed}")
        if panel not in PANELS:
            raise ValueError(f"panel must be {', '.join(PANELS[1:])}, or empty; got {panel!r}")
        told = mix != "mean" if told is None else told
        asked = views.Design(tuple(map(tuple, layers)), told=told, nearest=nearest, mix=mix)
        offsets = [list(layer) for layer in asked.layers]
        super().__init__(layers=offsets, told=told, nearest=nearest, mix=mix, seed=seed, panel=panel)

    def design(self) -> views.Design:
        """Return the design as it is painted now."""
        layers = tuple(map(tuple, self.layers))
        return views.Design(layers, told=self.told, nearest=self.nearest, mix=self.mix)

    def tagger(self) -> Tagger:
        """Return the tagger with the weights that it had when training was last paused.

        Returns:
            A tagger, float64: with the random weights of the beginning, if nothing was trained yet.
        """
        tagger = training.build(self.seed, **self.design().tagger_choices())
        if self.weights:
            values = torch.frombuffer(bytearray(self.weights), dtype=torch.float64)
            torch.nn.utils.vector_to_parameters(values, tagger.parameters())
        return tagger

    def table(self) -> str:
        """Return the design, its ceiling and its price."""
        design = self.design()
        held, wait = views.reading(design)
        offsets = " then ".join(" ".join(f"{o:+}" for o in layer) or "itself" for layer in self.layers)
        rows = [
            ["sees", offsets.replace("-", "−")],
            ["told where", "yes" if self.told else "no"],
            ["ceiling", f"{100 * float(views.ceiling(design)):.2f} %"],
            ["loses most", _worded(views.confusion(design))],
            ["pairs a word", f"{float(views.pairs(design)):.2f}"],
            ["bytes held", str(held)],
            ["words waited for", str(wait)],
        ]
        return table_of(["this design", "value"], rows)

    def caption(self) -> str:
        """Return one sentence that says what the figure shows."""
        return "Whom a word may see, and the best that is possible with it."


def _worded(found: views.Confusion | None) -> str:
    """Say which word loses most, and two places that look alike."""
    if found is None:
        return "nothing is lost"
    marked = [
        " ".join(f"[{w}]" if i == at else w for i, w in enumerate(words)) for words, at, _ in found.alike
    ]
    places = ", ".join(f"“{text}” {tag}" for text, (_, _, tag) in zip(marked, found.alike, strict=True))
    return f"{found.word}, {100 * float(found.lost):.2f} points; alike: {places}"
