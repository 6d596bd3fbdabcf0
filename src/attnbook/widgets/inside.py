"""Heads of a real model: pick a sentence, a head and a piece of a word, and see where it looks."""

from __future__ import annotations

import base64
import json
from typing import Any

import torch
import traitlets
from torch import Tensor

from attnbook.tables import table_of
from attnbook.tour import weights_of
from attnbook.widgets.figure import STATIC, Figure
from attnlab.arguments import at_least
from attnlab.pretrained import MiniLM, SmolLM2

STORED = STATIC / "inside-weights.json"
"""The weights that the page shows, made by `benchmarks/real_model.py figure`."""


def pack(model: MiniLM | SmolLM2, text: str) -> dict[str, Any]:
    """Compute a model's weights for a text, in the form that the figure takes: a byte for each weight.

    Args:
        model: the model.
        text: the text, at most 64 pieces.

    Returns:
        Its pieces, the numbers of layers and heads, and the weights.

    Raises:
        ValueError: the text has more pieces.
    """
    pieces = model.pieces(text)
    if not 1 <= len(pieces) <= 64:
        raise ValueError(f"text must have 1 to 64 pieces, got {len(pieces)}")
    weights = weights_of(model, text)  # (layers, heads, n, n)
    causal = isinstance(model, SmolLM2)
    if causal:
        row, column = torch.tril_indices(len(pieces), len(pieces))
        weights = weights[:, :, row, column]
    packed = (weights * 255).round().to(torch.uint8).numpy().tobytes()
    return {
        "model": "SmolLM2-135M-Instruct" if causal else "all-MiniLM-L6-v2",
        "pieces": pieces,
        "layers": weights.shape[0],
        "heads": weights.shape[1],
        "causal": causal,
        "weights": base64.b64encode(packed).decode(),
    }


class HeadsViewer(Figure):
    """See where every head of a real model looks: a map of all heads, and the lines of one.

    Shows stored weights, so that it needs neither model nor network; `of` shows any text.

    Args:
        sentence: which of the texts, from 0.
        layer: the layer of the chosen head, from 1.
        head: the head, from 1.
        token: the piece that looks, from 0.
        texts: what `pack` returned, for each text; the stored ones unless given.

    Raises:
        ValueError: there is no such text, head or piece.

    References:
        Vig 2019 (BertViz), for drawing a head as lines between two columns of words.

    >>> figure = HeadsViewer(layer=1, head=3, token=2)
    >>> figure.weights[2].argmax().item()
    1
    """

    _esm = STATIC / "inside.js"
    name = "inside"
    state = ("sentence", "layer", "head", "token", "texts")
    sentence = traitlets.Int(0).tag(sync=True)
    layer = traitlets.Int(1).tag(sync=True)
    head = traitlets.Int(1).tag(sync=True)
    token = traitlets.Int(0).tag(sync=True)
    texts = traitlets.List().tag(sync=True)

    def __init__(
        self,
        sentence: int = 0,
        *,
        layer: int = 1,
        head: int = 1,
        token: int = 0,
        texts: list[dict[str, Any]] | None = None,
    ) -> None:
        texts = json.loads(STORED.read_text(encoding="utf-8")) if texts is None else texts
        if not 0 <= sentence < len(texts):
            raise ValueError(f"sentence must be from 0 to {len(texts) - 1}, got {sentence}")
        shown = texts[sentence]
        at_least(1, layer=layer, head=head)
        at_least(0, token=token)
        for name, value, most in (
            ("layer", layer, shown["layers"]),
            ("head", head, shown["heads"]),
            ("token", token, len(shown["pieces"]) - 1),
        ):
            if value > most:
                raise ValueError(f"{name} must be at most {most} for this text, got {value}")
        super().__init__(sentence=sentence, layer=layer, head=head, token=token, texts=texts)

    @classmethod
    def of(cls, text: str, model: MiniLM | SmolLM2, **options: int) -> HeadsViewer:
        """Show the heads of a model on any text of at most 64 pieces.

        Args:
            text: the text.
            model: from `pretrained.load_minilm` or `load_smollm2`.
            options: layer, head and token.

        Raises:
            ValueError: the text is empty or too long.
        """
        return cls(texts=[pack(model, text)], **options)

    @property
    def weights(self) -> Tensor:
        """The weights of the chosen head, (n, n), as they are stored: to 1/255."""
        text = self.texts[self.sentence]
        n = len(text["pieces"])
        packed = torch.frombuffer(bytearray(base64.b64decode(text["weights"])), dtype=torch.uint8) / 255
        mine = packed.view(text["layers"], text["heads"], -1)[self.layer - 1, self.head - 1]
        if not text["causal"]:
            return mine.view(n, n)
        full = torch.zeros(n, n)
        full[tuple(torch.tril_indices(n, n))] = mine
        return full

    def table(self) -> str:
        """Return where the chosen piece looks."""
        pieces = self.texts[self.sentence]["pieces"]
        rows = [
            [f"{at + 1} {piece}", f"{w:.2f}"]
            for at, (piece, w) in enumerate(zip(pieces, self.weights[self.token].tolist(), strict=True))
        ]
        return table_of(["piece", "weight"], rows)

    def caption(self) -> str:
        """Return one sentence that says what the figure shows."""
        return "Where the heads of a real model look."
