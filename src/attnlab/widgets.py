"""The interactive figures, for notebooks with a kernel and for pages without one.

Displaying a figure gives two forms of it: a widget view, which a live kernel uses, and HTML, which holds the
figure's settings and the real table of its numbers. A page's script turns the HTML into the same figure;
without scripts, in print and for screen readers the table still tells the truth. In Colab, call
`enable_in_colab()` once before the first figure.
"""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import anywidget
import torch
import traitlets
from torch import Tensor

from attnlab.attention import attention
from attnlab.tagging import shipped

STATIC = Path(__file__).with_name("static")


class Figure(anywidget.AnyWidget):
    """What all figures share: both forms of display, and a `repr` without a memory address."""

    name: ClassVar[str]
    """The figure's name in the page and of its script."""
    state: ClassVar[tuple[str, ...]]
    """The traits that make up its state."""

    def settings(self) -> dict[str, Any]:
        """Return the state, as the page stores it."""
        return {key: getattr(self, key) for key in self.state}

    def table(self) -> str:
        """Return the figure's numbers as an HTML table."""
        raise NotImplementedError

    def caption(self) -> str:
        """Return one sentence that says what the figure is for."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<figure: {self.name}>"

    def _repr_html_(self) -> str:
        settings = html.escape(json.dumps(self.settings(), ensure_ascii=False), quote=True)
        return (
            f'<figure class="attnlab-figure" data-attnlab="{self.name}" data-settings="{settings}">'
            f"{self.table()}<figcaption>{html.escape(self.caption())}</figcaption></figure>"
        )

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict, dict]:
        view = super()._repr_mimebundle_(**kwargs)
        data, metadata = view if isinstance(view, tuple) else (view or {}, {})
        return {**data, "text/plain": repr(self), "text/html": self._repr_html_()}, metadata


class TagSentence(Figure):
    """Type a sentence, see its tags, pick a word and see how much of every word went into it.

    Args:
        sentence: the sentence it starts with.
        word: the word picked, from 0; -1 for none.
        head: "mean", or "layer.head", from 1.

    Raises:
        TypeError: the sentence is not text.
        ValueError: there is no such word or head.

    >>> figure = TagSentence("I saw a saw", word=3)
    >>> figure.tagged.tags
    ('PRON', 'VERB', 'DET', 'NOUN')
    """

    _esm = STATIC / "tag.js"
    name = "tag"
    state = ("sentence", "word", "head")
    sentence = traitlets.Unicode().tag(sync=True)
    word = traitlets.Int(-1).tag(sync=True)
    head = traitlets.Unicode("mean").tag(sync=True)
    model = traitlets.Bytes().tag(sync=True)

    def __init__(self, sentence: str = "I saw a saw", word: int = -1, head: str = "mean") -> None:
        if not isinstance(sentence, str):
            raise TypeError(f"sentence must be a str, got {type(sentence).__name__}")
        n = len(shipped.load().tag(sentence).tokens)
        if not -1 <= word < n:
            raise ValueError(f"word must be from 0 to {n - 1}, or -1 for none; got {word}")
        form = shipped.load().card["form"]
        heads = [f"{a + 1}.{b + 1}" for a in range(form["n_layers"]) for b in range(form["n_heads"])]
        if head not in ("mean", *heads):
            raise ValueError(f"head must be 'mean' or one of {', '.join(heads)}; got {head!r}")
        super().__init__(sentence=sentence, word=word, head=head, model=shipped.FILE.read_bytes())

    @property
    def tagged(self) -> shipped.Tagged:
        """The sentence as it stands now, tagged in Python."""
        return shipped.load().tag(self.sentence)

    @property
    def weights(self) -> Tensor:
        """The attention weights shown, (n, n): of one head, or the mean of all."""
        weights = self.tagged.weights
        if self.head == "mean":
            return weights.mean((0, 1))
        layer, head = map(int, self.head.split("."))
        return weights[layer - 1, head - 1]

    def table(self) -> str:
        """Return tokens, tags and probabilities, and how much the picked word takes of each."""
        tagged = self.tagged
        picked = 0 <= self.word < len(tagged.tokens)
        taken = [f"{w:.4f}" for w in self.weights[self.word].tolist()] if picked else None
        rows = [
            [token, tag, f"{p:.4f}", taken[i] if taken else "–"]
            for i, (token, tag, p) in enumerate(
                zip(tagged.tokens, tagged.tags, tagged.probabilities.amax(-1).tolist(), strict=True)
            )
        ]
        return _table(["word", "tag", "probability", "weight"], rows)

    def caption(self) -> str:
        """Return one sentence that says what the figure is for."""
        return "Tag a sentence: pick a word to see how much of every word went into its tag."


class Calculator(Figure):
    """Edit any number of single-head attention and follow it through six stages.

    Args:
        X: tokens (n, d_model).
        W_q: query weights (d_model, d_k); scores are Q Kᵀ with Q = X W_q.
        W_k: key weights (d_model, d_k).
        W_v: value weights (d_model, d_v).
        tokens: the n names of the rows.
        stage: the stage it starts at, 1 to 6.
        scale: factor on the scores; 1/sqrt(d_k) if None.
        causal: hide later tokens.

    Raises:
        ValueError: shapes do not fit; the message names the argument, its shape and the shape it needs.

    >>> eye = [[1.0, 0.0], [0.0, 1.0]]
    >>> figure = Calculator([[1.0, 0.0], [0.0, 1.0]], eye, eye, eye, ["I", "saw"])
    >>> figure.weights.sum(-1).tolist()
    [1.0, 1.0]
    """

    _esm = STATIC / "calculator.js"
    name = "calculator"
    state = ("X", "W_q", "W_k", "W_v", "tokens", "stage", "focus", "scale", "causal")
    X = traitlets.List().tag(sync=True)
    W_q = traitlets.List().tag(sync=True)
    W_k = traitlets.List().tag(sync=True)
    W_v = traitlets.List().tag(sync=True)
    tokens = traitlets.List(traitlets.Unicode()).tag(sync=True)
    stage = traitlets.Int(1, min=1, max=6).tag(sync=True)
    focus = traitlets.List([0, 0]).tag(sync=True)
    scale = traitlets.Float(None, allow_none=True).tag(sync=True)
    causal = traitlets.Bool(False).tag(sync=True)

    def __init__(
        self,
        X: Any,
        W_q: Any,
        W_k: Any,
        W_v: Any,
        tokens: Sequence[str],
        *,
        stage: int = 1,
        scale: float | None = None,
        causal: bool = False,
    ) -> None:
        given = {"X": X, "W_q": W_q, "W_k": W_k, "W_v": W_v}
        m = {name: _matrix(name, rows) for name, rows in given.items()}
        n, d_model = m["X"].shape
        for name in ("W_q", "W_k", "W_v"):
            if m[name].shape[0] != d_model:
                raise ValueError(
                    f"{name} must have shape (d_model = {d_model}, width), got {tuple(m[name].shape)}"
                )
        if m["W_k"].shape != m["W_q"].shape:
            raise ValueError(
                f"W_k must have the shape of W_q, {tuple(m['W_q'].shape)}; got {tuple(m['W_k'].shape)}"
            )
        if len(tokens) != n:
            raise ValueError(f"tokens must name the {n} rows of X, got {len(tokens)} names")
        if not 1 <= stage <= 6:
            raise ValueError(f"stage must be from 1 to 6, got {stage}")
        rows = {name: matrix.tolist() for name, matrix in m.items()}
        super().__init__(**rows, tokens=list(tokens), stage=stage, scale=scale, causal=causal)

    def _attend(self) -> tuple[Tensor, Tensor]:
        x, w_q, w_k, w_v = (_matrix(key, getattr(self, key)) for key in ("X", "W_q", "W_k", "W_v"))
        return attention(
            x @ w_q, x @ w_k, x @ w_v, scale=self.scale, is_causal=self.causal, need_weights=True
        )

    @property
    def weights(self) -> Tensor:
        """The weights as the figure stands now, (n, n), float64."""
        return self._attend()[1]

    @property
    def output(self) -> Tensor:
        """The output as the figure stands now, (n, d_v), float64."""
        return self._attend()[0]

    def table(self) -> str:
        """Return the weights and the output of every token."""
        output, weights = self._attend()
        outputs = [f"output {j + 1}" for j in range(output.shape[1])]
        head = ["token", *(f"takes of {token}" for token in self.tokens), *outputs]
        numbers = torch.cat((weights, output), -1).tolist()
        rows = [[token, *(f"{x:.4f}" for x in row)] for token, row in zip(self.tokens, numbers, strict=True)]
        return _table(head, rows)

    def caption(self) -> str:
        """Return one sentence that says what the figure is for."""
        return "Attention calculator: change a number, step through six stages, read each cell's formula."


def enable_in_colab() -> None:
    """Let Colab show figures that talk to the kernel; anywhere else this does nothing.

    >>> enable_in_colab()
    """
    try:
        from google.colab import output
    except ImportError:
        return
    output.enable_custom_widget_manager()


def _matrix(name: str, rows: Any) -> Tensor:
    try:
        matrix = torch.as_tensor(rows).double()
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(f"{name} must be rows of numbers, all of one length: {error}") from None
    if matrix.dim() != 2 or 0 in matrix.shape:
        raise ValueError(f"{name} must have shape (rows, columns), got {tuple(matrix.shape)}")
    if not matrix.isfinite().all():
        raise ValueError(f"{name} must hold finite numbers, got {matrix.tolist()}")
    return matrix


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    top = "".join(f'<th scope="col">{html.escape(text)}</th>' for text in head)
    body = "".join(
        f'<tr><th scope="row">{html.escape(first)}</th>'
        + "".join(f"<td>{html.escape(text)}</td>" for text in rest)
        + "</tr>"
        for first, *rest in rows
    )
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"
