"""Guess the next word with a Transformer, deep or shallow, whole or with a part left out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal, get_args

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attnbook.experiments.fitting import fit
from attnbook.experiments.next_word import SKIP, Text, floor
from attnbook.experiments.runs import Run
from attnlab.transformer import EncoderLayer, LanguageModel

Part = Literal[
    "",
    "residual",
    "norm",
    "every norm",
    "feed-forward",
    "attention",
    "residual and norm",
    "residual and attention",
]


class Bare(EncoderLayer):
    """A layer whose parts replace the stream instead of adding to it."""

    def _add(self, x, part, norm, out_norm):
        return part if self.norm_first else norm(part)


class Deaf(EncoderLayer):
    """A layer whose tokens do not hear one another."""

    def _attend(self, x, need_weights, **options):
        return x, None


class BareDeaf(Bare, Deaf):
    """A layer whose tokens do not hear one another, and whose network replaces the stream."""


def without(part: Part, **options: Any) -> LanguageModel:
    """Build a language model with a part left out of every layer.

    Args:
        part: "residual", "norm", "feed-forward", "attention", "residual and norm", "residual and attention";
            "" for a whole one. Norms go from the layers; the last one stays but with "every norm".
        options: of `LanguageModel`.

    Raises:
        ValueError: there is no such part.

    >>> model = without("feed-forward", vocab_size=9, d_model=8, n_heads=2, n_layers=3)
    >>> model.stack.layers[0].ffn is None
    True
    """
    if part not in get_args(Part):
        raise ValueError(f"part must be {', '.join(get_args(Part)[1:])}; got {part!r}")
    model = LanguageModel(**options, **({"d_ff": 0} if part == "feed-forward" else {}))
    kind = {"attention": Deaf, "residual and attention": BareDeaf}.get(part)
    kind = kind or (Bare if "residual" in part else EncoderLayer)
    for layer in model.stack.layers:
        layer.__class__ = kind  # the same weights, another way through them
        if "norm" in part:
            layer.attention_norm, layer.ffn_norm = nn.Identity(), nn.Identity()
    if part == "every norm":
        model.stack.final_norm = nn.Identity()
    return model


@torch.no_grad()
def draw_as_torch_does(model: LanguageModel) -> None:
    """Draw the matrices of a stack anew, as `torch.nn.Transformer` draws its own.

    That is Glorot and Bengio's uniform draw ("Xavier"), where queries, keys and values are one matrix of
    3 d_model rows; the biases of attention are 0. `torch.nn.Linear` by itself draws smaller ones.

    Args:
        model: changed in place.

    References:
        Glorot and Bengio 2010, section 4.2.1.

    >>> model = LanguageModel(9, 8, 2, 1)
    >>> draw_as_torch_does(model)
    >>> model.stack.layers[0].attention.q_proj.weight.abs().max().item() <= (6 / 32) ** 0.5
    True
    """
    for name, weight in model.stack.named_parameters():
        if weight.dim() == 2:
            joint = name.endswith(("q_proj.weight", "k_proj.weight", "v_proj.weight"))
            nn.init.xavier_uniform_(weight, gain=math.sqrt(0.5) if joint else 1.0)
        elif ".attention." in name and name.endswith("bias"):
            nn.init.zeros_(weight)


@dataclass(frozen=True)
class NextWords:
    """Train a Transformer on sentences whose probabilities are known; a candidate of `sweep`.

    The curve is the mean loss on sentences that are new at that step, in nats a guess, above the least that
    any honest model can pay. Where `exact`, an extra has it over all sentences, with their probabilities.

    Args:
        text: the sentences.
        n_layers: layers.
        part: what is left out, see `without`.
        norm_first: pre-norm, or post-norm.
        d_model: width.
        steps: of AdamW, with the rate falling along a cosine.
        warm: of these, the first, in which the rate rises.
        batch: sentences in each step.
        exact: compute the loss over all sentences at the end.
        every: steps to a point of the curve.
        n_heads: heads of a layer.
        xavier: draw the first matrices as `torch.nn.Transformer` does, not as `torch.nn.Linear`.
        clip: the longest gradient; a longer one is shortened to it. None leaves all as they are.
    """

    told: ClassVar = {
        "optimizer": "AdamW on a cosine",
        "examples": "sentences",
        "counts": "nats a guess, a mean over the last tenth of training",
    }

    text: Text = field(repr=False)
    n_layers: int
    part: Part = ""
    norm_first: bool = True
    d_model: int = 32
    steps: int = 150
    warm: int = 1
    batch: int = 32
    exact: bool = False
    every: int = 10
    n_heads: int = 4
    xavier: bool = False
    clip: float | None = None

    def __call__(self, rate: float, seed: int) -> Run:
        """Train once."""
        model, curve = self.train(rate, seed)
        return Run(curve, self.every, extras={"above the floor": self.excess(model)} if self.exact else {})

    def model(self, seed: int) -> LanguageModel:
        """Build the model, untrained."""
        torch.manual_seed(seed)
        model = without(
            self.part,
            vocab_size=len(self.text.words),
            d_model=self.d_model,
            n_heads=self.n_heads,
            n_layers=self.n_layers,
            norm_first=self.norm_first,
            tied=False,
            std=1.0,
        )
        if self.xavier:
            draw_as_torch_does(model)
        return model

    def train(
        self, rate: float, seed: int, model: LanguageModel | None = None
    ) -> tuple[LanguageModel, list[float]]:
        """Return the trained model and its curve; a model that is given is trained further."""
        model, draw = model or self.model(seed), torch.Generator().manual_seed(seed)
        seen: list[float] = []

        def loss() -> Tensor:
            some = torch.multinomial(self.text.chances, self.batch, True, generator=draw)
            found = F.cross_entropy(
                model(self.text.read[some]).flatten(0, 1), self.text.guess[some].flatten(), ignore_index=SKIP
            )
            # Before the step, so these sentences are new. What they cost the grammar itself is taken away.
            guesses = (self.text.guess[some] != SKIP).sum()
            seen.append(found.item() + float(self.text.chances[some].log().sum() / guesses))
            return found

        def watch() -> float:
            return math.fsum(seen[-self.every :]) / self.every

        how = {"rate": rate, "steps": self.steps, "every": self.every, "warm": self.warm, "clip": self.clip}
        return model, fit(model, loss, watch, **how)

    @cached_property
    def floor(self) -> float:
        """The least mean loss, in nats a guess."""
        return floor(self.text.probabilities)

    @torch.no_grad()
    def excess(self, model: LanguageModel) -> float:
        """Return the exact mean loss of a model above the floor, over all sentences."""
        read, guess, chances = self.text.read, self.text.guess, self.text.chances
        total = 0.0
        for r, g, p in zip(read.split(4096), guess.split(4096), chances.split(4096), strict=True):
            surprise = F.cross_entropy(model(r).movedim(-1, 1), g, reduction="none", ignore_index=SKIP)
            total += float((p * surprise.double().sum(-1)).sum())
        return total / float((chances * (guess != SKIP).sum(-1)).sum()) - self.floor


def by_counting(text: Text) -> dict[str, float]:
    """Return what those pay who know less than the sentence so far, in nats a guess above the floor, exactly.

    Args:
        text: the sentences.

    Returns:
        "frequencies": by who knows only how often each word occurs; "the word before": by who sees one word.

    >>> by_counting(Text({("a", "b"): 0.5, ("b", "a"): 0.5}))["frequencies"] > 0.5
    True
    """
    pairs: dict[tuple[str, str], float] = {}
    for words, p in text.probabilities.items():
        for pair in zip(("<start>", *words), (*words, "<end>"), strict=True):
            pairs[pair] = pairs.get(pair, 0.0) + p
    total, least = math.fsum(pairs.values()), floor(text.probabilities)
    before: dict[str, float] = {}
    after: dict[str, float] = {}
    for (first, second), p in pairs.items():
        before[first] = before.get(first, 0.0) + p
        after[second] = after.get(second, 0.0) + p
    frequencies = -math.fsum(p * math.log(p / total) for p in after.values()) / total
    one = -math.fsum(p * math.log(p / before[first]) for (first, _), p in pairs.items()) / total
    return {"frequencies": frequencies - least, "the word before": one - least}


def gradient_norms(model: LanguageModel, read: Tensor, guess: Tensor) -> list[float]:
    """Return how large the gradient of the loss is at the input of each layer, beside that of the last one.

    Args:
        model: the model; its weights' gradients are left alone.
        read: numbers of words (batch, n).
        guess: what is to be guessed there.

    Returns:
        For each layer the norm of the gradient at its input, divided by that at the input of the last layer.
    """
    inputs, logits = _inputs(model, read)
    loss = F.cross_entropy(logits.flatten(0, 1), guess.flatten(), ignore_index=SKIP)
    sizes = [float(grad.norm()) for grad in torch.autograd.grad(loss, inputs)]
    return [size / sizes[-1] for size in sizes]


@torch.no_grad()
def contrasts(model: LanguageModel, read: Tensor) -> list[float]:
    """Return how much the tokens of a sentence differ at the input of each layer: 0 if they are all alike.

    Args:
        model: the model.
        read: numbers of words (batch, n), none of them padding.

    Returns:
        For each layer the root mean square of what distinguishes tokens from the mean token of their
        sentence, divided by that of the tokens themselves.
    """
    inputs, _ = _inputs(model, read)
    apart = [x - x.mean(-2, keepdim=True) for x in inputs]
    return [float(a.norm() / x.norm()) for a, x in zip(apart, inputs, strict=True)]


def _inputs(model: LanguageModel, read: Tensor) -> tuple[list[Tensor], Tensor]:
    """Return what goes into each layer, and the scores."""
    inputs: list[Tensor] = []
    hooks = [
        layer.register_forward_pre_hook(lambda _, arguments: inputs.append(arguments[0]))
        for layer in model.stack.layers
    ]
    try:
        return inputs, model(read)
    finally:
        for hook in hooks:
            hook.remove()


def toy_text(sentences: Mapping[tuple, Any]) -> Text:
    """Return the sentences of a tagged grammar without their tags.

    Args:
        sentences: (words, tags) -> probability; what can be tagged in two ways is one sentence.

    >>> toy_text({(("a",), ("DET",)): 0.5, (("a",), ("NOUN",)): 0.5}).probabilities
    {('a',): 1.0}
    """
    found: dict[tuple, float] = {}
    for (words, _), probability in sentences.items():
        found[words] = found.get(words, 0.0) + float(probability)
    return Text(found)
