"""The next word: a small model's probabilities, a rule that cuts them, and a draw from what is left."""

from __future__ import annotations

from typing import Any

import torch
import traitlets

from attnbook.tables import table_of
from attnbook.widgets import stored
from attnbook.widgets.decoder import Pass, check_text, one_pass, words
from attnbook.widgets.figure import STATIC, Figure
from attnlab.transformer import distribution

RULES = ("all", "greedy", "top_k", "top_p", "min_p")


class Sampling(Figure):
    """Pick the next word: a rule cuts the model's probabilities, and a word is drawn from what stays.

    What is drawn comes from `seed` and the word's place alone, here as in the page.

    Args:
        text: what has been written, of the toy grammar's words.
        rule: what is kept of the probabilities: "all", "greedy", "top_k", "top_p", "min_p".
        temperature: the scores are divided by it, unless the rule is "greedy".
        top_k: words kept by "top_k".
        top_p: share of the probability kept by "top_p".
        min_p: share of the best word's probability needed under "min_p".
        seed: of the draws.

    Raises:
        ValueError: a word is unknown, or a number is out of its range.

    >>> figure = Sampling("I saw a", rule="top_k", top_k=3)
    >>> figure.kept
    ['can', 'fish', 'old']
    >>> Sampling("I saw a saw", rule="greedy").drawn
    '<end>'
    """

    _esm = STATIC / "sampler.js"
    name = "sampler"
    state = ("text", "rule", "temperature", "top_k", "top_p", "min_p", "seed")
    text = traitlets.Unicode().tag(sync=True)
    rule = traitlets.Unicode().tag(sync=True)
    temperature = traitlets.Float().tag(sync=True)
    top_k = traitlets.Int().tag(sync=True)
    top_p = traitlets.Float().tag(sync=True)
    min_p = traitlets.Float().tag(sync=True)
    seed = traitlets.Int().tag(sync=True)
    model = traitlets.Bytes().tag(sync=True)

    def __init__(
        self,
        text: str = "",
        *,
        rule: str = "all",
        temperature: float = 1.0,
        top_k: int = 5,
        top_p: float = 0.9,
        min_p: float = 0.2,
        seed: int = 0,
    ) -> None:
        check_text(text)
        if rule not in RULES:
            raise ValueError(f"rule must be one of {', '.join(RULES)}, got {rule!r}")
        limits = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "min_p": min_p}
        distribution(torch.zeros(1, 1), **limits)  # refuses what is out of range
        super().__init__(text=text, rule=rule, **limits, seed=seed, model=stored.file("decoder"))

    @property
    def rules(self) -> dict[str, Any]:
        """The rules in use, as `transformer.distribution` takes them."""
        if self.rule == "greedy":
            return {"temperature": 0.0}
        limit = {} if self.rule == "all" else {self.rule: getattr(self, self.rule)}
        return {"temperature": self.temperature, **limit}

    def step(self) -> Pass:
        """The pass that gives the next word, computed in Python."""
        return one_pass(self.text, self.rules, seed=self.seed)

    @property
    def kept(self) -> list[str]:
        """The words that the rule keeps, the most probable first."""
        p = self.step().p[0]
        return [words()[i] for i in p.argsort(descending=True, stable=True).tolist() if p[i] > 0]

    @property
    def drawn(self) -> str:
        """The word that is drawn."""
        return words()[self.step().words[0]]

    def table(self) -> str:
        """Return each word's probability: the model's own, and what it is drawn with."""
        step = self.step()
        before, after = step.scores[0].softmax(-1), step.p[0]
        rows = [
            [words()[i], f"{before[i]:.4f}", f"{after[i]:.4f}", "✓" if step.words[0] == i else ""]
            for i in before.argsort(descending=True, stable=True).tolist()
        ]
        return table_of(["next word", "model", "drawn with", "drawn"], rows)

    def caption(self) -> str:
        """Return one sentence that says what the figure shows."""
        return "The chances of the next word, and which words a rule keeps."
