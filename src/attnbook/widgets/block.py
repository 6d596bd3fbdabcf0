"""Follow one word through the layers of a trained tagger, part by part; each part can be switched off."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
import traitlets
from torch import Tensor

from attnbook.tables import table_of
from attnbook.tagging import shipped
from attnbook.widgets.figure import STATIC, Figure


@dataclass(frozen=True)
class Stage:
    """The stream of all words behind one part of the model.

    Args:
        part: "words", "attention 1", "network 1", and so on.
        on: whether the part is switched on.
        stream: (n, d_model).
        added: how large what the part adds is beside the stream that it read (n,); 0 for the words.
        probabilities: of the tags if the stream were read out here (n, tags).
    """

    part: str
    on: bool
    stream: Tensor
    added: Tensor
    probabilities: Tensor


def parts(form: dict) -> list[str]:
    """Return the names of all that can be switched off."""
    names = ["norm", "residual"]
    for layer in range(1, form["n_layers"] + 1):
        heads = [f"head {layer}.{head}" for head in range(1, form["n_heads"] + 1)]
        names += [f"attention {layer}", *heads, f"network {layer}"]
    return names


@torch.no_grad()
def follow(tagger: shipped.ShippedTagger, tokens: Sequence[str], off: Iterable[str] = ()) -> list[Stage]:
    """Send words through the tagger and read the stream out behind every part.

    Args:
        tagger: the shipped tagger.
        tokens: n words, at least one.
        off: parts that are switched off, as `parts` names them: a part or head adds nothing. Without "norm"
            the parts read the stream as it is; without "residual" they replace it.

    Returns:
        A stage for the words and one for each part, in order.
    """
    off, model, form = set(off), tagger.model, tagger.card["form"]
    x = model.table(tagger.ids(tokens)).sum(-2)  # (n, d_model)

    def stage(part: str, before: Tensor | None = None, found: Tensor | None = None) -> Stage:
        size = torch.zeros(len(x)) if before is None else found.norm(dim=-1) / before.norm(dim=-1)
        return Stage(part, part not in off, x, size, model.out(model.norm(x)).softmax(-1))

    stages = [stage("words")]
    for number, layer in enumerate(model.layers, 1):
        names = [f"head {number}.{head}" for head in range(1, form["n_heads"] + 1)]
        on = torch.tensor([float(name not in off) for name in names], dtype=x.dtype)

        def attend(y: Tensor, layer=layer, on=on) -> Tensor:
            return layer["attention"](y[None], head_weights=on)[0]

        def think(y: Tensor, layer=layer) -> Tensor:
            return layer["down"](layer["up"](y).relu())

        for part, norm, work in (("attention", "norm", attend), ("network", "norm2", think)):
            before, name = x, f"{part} {number}"
            found = torch.zeros_like(x)
            if name not in off:
                found = work(x if "norm" in off else layer[norm](x))
                x = found if "residual" in off else x + found
            stages.append(stage(name, before, found))
    return stages


class Block(Figure):
    """Follow one word through two trained layers, switch parts off, and see which tag the word is given.

    Args:
        sentence: the sentence it starts with.
        word: the word that is followed, from 0.
        off: parts that are switched off: "attention 1", "head 1.2", "network 2", "norm", "residual", ...

    Raises:
        TypeError: the sentence is not text.
        ValueError: there is no such word or part.

    >>> figure = Block("I saw a saw", word=3)
    >>> [stage.part for stage in figure.stages]
    ['words', 'attention 1', 'network 1', 'attention 2', 'network 2']
    >>> figure.tag
    'NOUN'
    """

    _esm = STATIC / "block.js"
    name = "block"
    state = ("sentence", "word", "off")
    sentence = traitlets.Unicode().tag(sync=True)
    word = traitlets.Int(0).tag(sync=True)
    off = traitlets.List(traitlets.Unicode()).tag(sync=True)
    model = traitlets.Bytes().tag(sync=True)

    def __init__(self, sentence: str = "I saw a saw", word: int = 0, off: Sequence[str] = ()) -> None:
        if not isinstance(sentence, str):
            raise TypeError(f"sentence must be a str, got {type(sentence).__name__}")
        n = len(shipped.load().tag(sentence).tokens)
        if not 0 <= word < n:
            raise ValueError(f"word must be from 0 to {n - 1}, got {word}")
        known = parts(shipped.load().card["form"])
        for part in off:
            if part not in known:
                raise ValueError(f"off must name parts, of {', '.join(known)}; got {part!r}")
        super().__init__(sentence=sentence, word=word, off=list(off), model=shipped.FILE.read_bytes())

    @property
    def stages(self) -> list[Stage]:
        """The stream as it stands now, computed in Python."""
        tagger = shipped.load()
        return follow(tagger, tagger.tag(self.sentence).tokens, self.off)

    @property
    def tag(self) -> str:
        """The tag of the word at the end."""
        return shipped.load().tags[int(self.stages[-1].probabilities[self.word].argmax())]

    def table(self) -> str:
        """Return for each stage the likeliest tag, its probability, and how much the part has added."""
        rows = []
        for stage in self.stages:
            chances = stage.probabilities[self.word]
            best = int(chances.argmax())
            added = "–" if stage.part == "words" else f"{stage.added[self.word]:.4f}"
            tag = shipped.load().tags[best]
            rows.append([stage.part, "on" if stage.on else "off", tag, f"{chances[best]:.4f}", added])
        return table_of(["after", "switched", "tag", "probability", "added / stream"], rows)

    def caption(self) -> str:
        """Return one sentence that says what the figure shows."""
        return "A word on its way through two trained layers, and its tag."
