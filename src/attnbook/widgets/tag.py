"""Tag a sentence, see where the tagger looked, and hide a word to see who needed it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
import traitlets
from torch import Tensor

from attnbook.tables import table_of
from attnbook.tagging import shipped
from attnbook.widgets.block import follow, parts
from attnbook.widgets.figure import STATIC, Figure, flag


class TagSentence(Figure):
    """Type a sentence, see its tags, pick a word and see how much it looked at each; hide a word and compare.

    Args:
        sentence: the sentence it starts with.
        word: the word picked, from 0; -1 for none.
        head: "mean", or "layer.head", from 1.
        hidden: words, from 0, at which no word may look.
        attention: None, or whether the layers of attention add what they found. Then the figure has their
            switch and nothing else: no word is picked and none hidden.
        only: whether there are words to pick and to hide, and nothing else: no other sentence, no table.
        folded: whether the table, the heads and the buttons of every figure wait in one closed fold.

    Raises:
        TypeError: the sentence is not text, or only or folded is not a bool.
        ValueError: there is no such word or head, no such word to hide, or a word is picked or hidden beside
            the switch, or something is to be folded where there is one gesture.

    >>> figure = TagSentence("I saw a saw", word=3)
    >>> figure.tagged.tags
    ('PRON', 'VERB', 'DET', 'NOUN')
    >>> TagSentence("I saw a saw", hidden=[2]).tagged.tags
    ('PRON', 'VERB', 'DET', 'PROPN')
    >>> TagSentence("I saw a saw", attention=False).tagged.tags
    ('PRON', 'VERB', 'DET', 'VERB')
    """

    _esm = STATIC / "tag.js"
    name = "tag"
    state = ("sentence", "word", "head", "hidden", "attention")
    sentence = traitlets.Unicode().tag(sync=True)
    word = traitlets.Int(-1).tag(sync=True)
    head = traitlets.Unicode("mean").tag(sync=True)
    hidden = traitlets.List(traitlets.Int()).tag(sync=True)
    attention = traitlets.Bool(None, allow_none=True).tag(sync=True)
    only = traitlets.Bool(False).tag(sync=True)
    folded = traitlets.Bool(False).tag(sync=True)
    model = traitlets.Bytes().tag(sync=True)

    def __init__(
        self,
        sentence: str = "I saw a saw",
        word: int = -1,
        head: str = "mean",
        hidden: Sequence[int] = (),
        *,
        attention: bool | None = None,
        only: bool = False,
        folded: bool = False,
    ) -> None:
        if not isinstance(sentence, str):
            raise TypeError(f"sentence must be a str, got {type(sentence).__name__}")
        n = len(shipped.load().tag(sentence, hidden=hidden).tokens)
        if not -1 <= word < n:
            raise ValueError(f"word must be from 0 to {n - 1}, or -1 for none; got {word}")
        form = shipped.load().card["form"]
        heads = [f"{a + 1}.{b + 1}" for a in range(form["n_layers"]) for b in range(form["n_heads"])]
        if head not in ("mean", *heads):
            raise ValueError(f"head must be 'mean' or one of {', '.join(heads)}; got {head!r}")
        if attention is not None and (word >= 0 or hidden):
            raise ValueError("beside the switch of attention no word is picked, and none is hidden")
        if flag("folded", folded) and (only or attention is not None):
            raise ValueError(
                "folded is for the whole figure: with only, or beside the switch, there is little to fold"
            )
        super().__init__(
            sentence=sentence,
            word=word,
            head=head,
            hidden=sorted(set(hidden)),
            attention=attention,
            only=flag("only", only),
            folded=folded,
            model=shipped.FILE.read_bytes(),
        )

    def settings(self) -> dict[str, Any]:
        """Return the state, as the page stores it: without the switch where there is none."""
        state = {key: value for key, value in super().settings().items() if value is not None}
        return state | ({"folded": True} if self.folded else {})

    @property
    def tagged(self) -> shipped.Tagged:
        """The sentence as it stands now, tagged in Python with what is hidden."""
        tagger = shipped.load()
        tagged = tagger.tag(self.sentence, hidden=self.hidden)
        if self.attention is not False or not tagged.tokens:
            return tagged
        off = [part for part in parts(tagger.card["form"]) if part.startswith("attention")]
        probabilities = follow(tagger, tagged.tokens, off)[-1].probabilities
        return replace(
            tagged,
            tags=tuple(tagger.tags[at] for at in probabilities.argmax(-1).tolist()),
            probabilities=probabilities,
            weights=torch.zeros_like(tagged.weights),
        )

    @property
    def weights(self) -> Tensor:
        """The attention weights shown, (n, n): of one head, or the mean of all."""
        weights = self.tagged.weights
        if self.head == "mean":
            return weights.mean((0, 1))
        layer, head = map(int, self.head.split("."))
        return weights[layer - 1, head - 1]

    def table(self) -> str:
        """Return words, tags, probabilities, how much the picked word looks at each, and which are hidden."""
        tagged = self.tagged
        picked = 0 <= self.word < len(tagged.tokens)
        looks = [f"{w:.4f}" for w in self.weights[self.word].tolist()] if picked else None
        rows = [
            [token, tag, f"{p:.4f}", looks[i] if looks else "–", "yes" if i in self.hidden else "no"]
            for i, (token, tag, p) in enumerate(
                zip(tagged.tokens, tagged.tags, tagged.probabilities.amax(-1).tolist(), strict=True)
            )
        ]
        return table_of(["word", "tag", "probability", "weight", "hidden"], rows)

    def caption(self) -> str:
        """Return one sentence that says what the figure shows."""
        if self.attention is not None:
            return "The same model, with attention and without."
        if self.only:
            return "The thicker an arc, the more the picked word looked there."
        if not self.folded:
            return "Each word shares out 100 % of looks among the words that are not hidden."
        n_numbers = sum(weight.numel() for weight in shipped.load().model.parameters())
        return f"In this page runs a trained model of {n_numbers:,} numbers."
