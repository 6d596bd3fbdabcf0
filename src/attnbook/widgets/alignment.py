"""Alignment: a small model writes a date again, and shows whom it asked at each character."""

from __future__ import annotations

from functools import cache

import torch
import traitlets

from attnbook.experiments import dates, translation
from attnbook.tables import table_of
from attnbook.widgets import stored
from attnbook.widgets.figure import STATIC, Figure
from attnlab.recurrent import Translator

MOST = 40
LONGEST = translation.Translation("concat", train_on=(1,), test_on=(1,), steps=4000)
"""All four trained with seed 0, on batches of the same texts, and none in more steps than this one."""


@cache
def models() -> dict[str, Translator]:
    """Load the four models of the figure: "bahdanau", and Luong's "dot", "general" and "concat".

    Returns:
        Models that read one date (`experiments.dates`) and write it as ISO 8601; the same objects every time.

    >>> translation.write(models()["bahdanau"], ["the third of may, 1984"])[0]
    ['1984-05-03']
    """
    states, found = stored.states("alignment"), {}
    for name, options in stored.card("alignment")["models"].items():
        sizes = {key: value for key, value in options.items() if key != "right"}
        found[name] = translation.MODELS[name](**sizes)
        found[name].load_state_dict(states[name])
        found[name].eval()
    return found


@cache
def learned() -> frozenset[str]:
    """Return every text from which one of the four models learned: what new texts must not be.

    >>> "5/3/84" in learned(), len(learned()) > 100_000
    (True, True)
    """
    return frozenset(LONGEST.known(0))


class DateAlignment(Figure):
    """Type a date, step through the decoder, see which state asks and which characters answer.

    Args:
        text: a date; what the models can't read is left out.
        score: "bahdanau", where s_{t-1} asks, or "dot", "general" or "concat", where h_t does (Luong).
        step: characters written so far.

    Raises:
        ValueError: there is no such score or step.

    >>> figure = DateAlignment("3.5.84", step=10)
    >>> figure.answer
    '1984-05-03'
    """

    _esm = STATIC / "alignment.js"
    name = "alignment"
    state = ("text", "score", "step")
    text = traitlets.Unicode().tag(sync=True)
    score = traitlets.Unicode().tag(sync=True)
    step = traitlets.Int(0).tag(sync=True)
    model = traitlets.Bytes().tag(sync=True)

    def __init__(self, text: str = "3 may 1984", score: str = "bahdanau", step: int = 0) -> None:
        if score not in models():
            raise ValueError(f"score must be one of {', '.join(models())}, got {score!r}")
        super().__init__(text=text, score=score, step=0, model=stored.file("alignment"))
        if not 0 <= step <= len(self.answer):
            raise ValueError(f"step must be from 0 to {len(self.answer)}, got {step}")
        self.step = step

    @property
    def read(self) -> str:
        """What the models read of the text."""
        return "".join(c for c in self.text.lower() if c in dates.SOURCE[1:])[:MOST]

    @property
    def answer(self) -> str:
        """What the model writes in the end."""
        return (
            translation.write(models()[self.score], [self.read], max_new_tokens=24)[0][0] if self.read else ""
        )

    @property
    def weights(self) -> torch.Tensor:
        """How much of each character was taken, (characters written so far, characters of the text)."""
        if not self.read:
            return torch.zeros(0, 0)
        return translation.write(models()[self.score], [self.read], max_new_tokens=24)[1][0][: self.step]

    @property
    def probabilities(self) -> list[float]:
        """How likely the model took each character to be that it has written so far."""
        if not self.step or not self.read:
            return []
        target = dates.answers([self.answer[: self.step]])
        logits = models()[self.score](dates.encode([self.read]), target[:, :-1])
        chosen = logits.softmax(-1)[0].gather(-1, target[0, 1:, None])
        return chosen[: self.step, 0].tolist()

    def table(self) -> str:
        """Return the characters written so far, and how much of each character of the text went into them."""
        rows = [
            [_visible(c), f"{p:.4f}", *(f"{w:.4f}" for w in row)]
            for c, p, row in zip(self.answer, self.probabilities, self.weights.tolist(), strict=False)
        ]
        return table_of(["written", "probability", *map(_visible, self.read)], rows)

    def caption(self) -> str:
        """Return one sentence that says what the figure shows."""
        return "What the decoder writes, and which characters it looks at."


def _visible(character: str) -> str:
    return "␣" if character == " " else character
