"""Two small language models write: what each pass keeps and reads, and what a draft saves."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
import traitlets
from torch import Tensor

from attnbook.tables import table_of
from attnbook.widgets import stored
from attnbook.widgets.dice import uniforms
from attnbook.widgets.figure import STATIC, Figure
from attnlab.cache import kv_cache_bytes
from attnlab.transformer import LanguageModel, distribution

START, END = 0, 1
MOST = 11
"""Words that a text may have: with <start>, as many as the cache has room for."""


@cache
def words() -> list[str]:
    """Return the vocabulary of both: the words of the toy grammar behind <start> and <end>.

    >>> words()[:3]
    ['<start>', '<end>', 'I']
    """
    return stored.card("decoder")["words"]


@cache
def models() -> dict[str, LanguageModel]:
    """Load the two language models of the toy grammar: "model", and the cheaper "draft".

    Returns:
        Models in `eval` mode; the same objects every time.

    >>> [sum(p.numel() for p in one.parameters()) for one in models().values()]
    [26688, 1192]
    """
    states, found = stored.states("decoder"), {}
    for name, shape in stored.card("decoder")["models"].items():
        sizes = {key: shape[key] for key in ("d_model", "n_heads", "n_layers")}
        found[name] = LanguageModel(len(words()), **sizes, tied=False)
        found[name].load_state_dict(states[name])
        found[name].eval()
    return found


@cache
def _exact(name: str, heads: int = 4) -> LanguageModel:
    """One of the models in double precision, as the page computes."""
    model = copy.deepcopy(models()[name]).double()
    return model if heads == model.stack.n_heads else model.grouped(heads)


@dataclass(frozen=True)
class Pass:
    """One pass of the model: over the last word, and over those that the draft wrote behind it.

    Args:
        drafted: numbers of the drafted words (n,).
        q: the draft's probabilities at their places, after the rules (n, vocab_size).
        scores: the model's at these places and the next (n + 1, vocab_size).
        p: its probabilities there, after the rules.
        keep: with what chance each drafted word is kept (n,).
        kept: how many were.
        words: numbers of the words that the pass writes.
    """

    drafted: list[int]
    q: Tensor
    scores: Tensor
    p: Tensor
    keep: list[float]
    kept: int
    words: list[int]


@torch.no_grad()
def one_pass(text: str, rules: dict[str, Any], draft: int = 0, heads: int = 4, seed: int = 0) -> Pass:
    """Run one pass of the model, and let the draft write ahead of it. What is drawn is what the page draws.

    Args:
        text: what has been written, of `words()`.
        rules: what `transformer.distribution` takes; both models obey them.
        draft: words drafted for the pass.
        heads: key-value heads, 4, 2 or 1.
        seed: of the draws, which depend on it and on a word's place alone.

    Returns:
        What was drafted, what was kept of it, and what the pass writes.

    >>> [words()[i] for i in one_pass("I saw a", {"temperature": 0.0}).words]
    ['can']
    """
    ids = [START, *map(words().index, text.split())]
    n, (model, small) = len(ids) - 1, (_exact("model", heads), _exact("draft"))
    dice = uniforms(seed, 3 * (MOST + 5)).view(-1, 3)[n:]
    drafted: list[int] = []
    q = torch.zeros(0, len(words()), dtype=torch.float64)
    while len(drafted) < min(draft, MOST - 1 - n) and END not in drafted:
        scores = small(torch.tensor([ids + drafted]))[:, -1]
        q = torch.cat((q, distribution(scores, **rules)))
        drafted.append(_falls(q[-1], dice[len(drafted), 1]))
    scores = model(torch.tensor([ids + drafted]))[0, n:]
    p = distribution(scores, **rules)
    keep = [min(float(p[i, word] / q[i, word]), 1.0) for i, word in enumerate(drafted)]
    kept = next((i for i, chance in enumerate(keep) if dice[i, 2] >= chance), len(drafted))
    new = drafted[:kept]
    if END not in new:
        rest = (p[kept] - q[kept]).clamp(min=0) if kept < len(drafted) else p[kept]
        new = [*new, _falls(rest / rest.sum() if rest.any() else p[kept], dice[kept, 0])]
    return Pass(drafted, q, scores, p, keep, kept, new)


def bytes_read(rows: int, new: int, drafted: int, heads: int = 4) -> dict[str, int]:
    """Count what a pass reads, in bytes, two a number: weights, cache, and all that the draft reads.

    Args:
        rows: words in the cache at the end of the pass.
        new: those of them that the pass read for the first time.
        drafted: words drafted for the pass.
        heads: key-value heads, 4, 2 or 1.

    >>> bytes_read(4, 4, 0)
    {'weights': 52416, 'cache': 1024, 'draft': 0}
    """

    def weights(model: LanguageModel, read: int) -> int:
        table = model.embedding.weight  # only the rows of the words read
        return 2 * (sum(w.numel() for w in model.parameters()) - table.numel() + read * table.shape[1])

    def cached(model: LanguageModel, n: int) -> int:
        attention = model.stack.layers[0].attention
        return kv_cache_bytes(len(model.stack.layers), attention.n_kv_heads, attention.d_head, n)

    own, small = _exact("model", heads), _exact("draft")
    before = sum(weights(small, 1) + cached(small, rows - drafted + i) for i in range(drafted))
    return {"weights": weights(own, new), "cache": cached(own, rows), "draft": before}


def check_text(text: str) -> None:
    """Refuse a text that the figures can't go on with.

    Raises:
        ValueError: a word is unknown, or there are too many.

    >>> check_text("I saw a saw")
    """
    unknown = [word for word in text.split() if word not in words()[2:]]
    if unknown:
        raise ValueError(f"text must be of {', '.join(words()[2:])}; got {unknown[0]!r}")
    if len(text.split()) > MOST:
        raise ValueError(f"text must have at most {MOST} words, got {len(text.split())}")


class Decoding(Figure):
    """Step through a generation: the cache fills, each pass reads all of it, a draft saves passes.

    What is drawn comes from `seed` and the word's place alone, here as in the page.

    Args:
        text: words that the model has read, from the toy grammar.
        passes: how many of them each pass so far has written; those before are the prompt.
        draft: words drafted for a pass of the model, 0 to 4.
        heads: key-value heads, 4, 2 or 1: means of the trained four, not trained further.
        place: the place of the pass whose probabilities the table shows, from 0.
        seed: of the draws.

    Raises:
        ValueError: a word is unknown, or a number is out of its range.

    >>> figure = Decoding("the old dog", draft=3, seed=430)
    >>> figure.drafted, figure.accepted, figure.written
    (['will', 'watch', '<end>'], 2, ['will', 'watch', 'the'])
    >>> figure.reads
    {'weights': 52608, 'cache': 1792, 'draft': 6768}
    """

    _esm = STATIC / "decoder.js"
    name = "decoder"
    state = ("text", "passes", "draft", "heads", "place", "seed")
    text = traitlets.Unicode().tag(sync=True)
    passes = traitlets.List(traitlets.Int()).tag(sync=True)
    draft = traitlets.Int().tag(sync=True)
    heads = traitlets.Int().tag(sync=True)
    place = traitlets.Int().tag(sync=True)
    seed = traitlets.Int().tag(sync=True)
    model = traitlets.Bytes().tag(sync=True)

    def __init__(
        self,
        text: str = "",
        passes: Sequence[int] = (),
        *,
        draft: int = 0,
        heads: int = 4,
        place: int = 0,
        seed: int = 0,
    ) -> None:
        check_text(text)
        n = len(text.split())
        if sum(passes) > n or any(written < 1 for written in passes):
            raise ValueError(f"passes must write 1 word or more each, {n} at most in all, got {list(passes)}")
        if not 0 <= draft <= 4:
            raise ValueError(f"draft must be from 0 to 4, got {draft}")
        if heads not in (1, 2, 4):
            raise ValueError(f"heads must be 4, 2 or 1, got {heads}")
        super().__init__(
            text=text, passes=list(passes), draft=draft, heads=heads, seed=seed, model=stored.file("decoder")
        )
        last = len(self.step().words) - 1
        if not 0 <= place <= last:
            raise ValueError(f"place must be from 0 to {last}, got {place}")
        self.place = place

    def step(self) -> Pass:
        """The pass that the figure shows, computed in Python."""
        return one_pass(self.text, {"temperature": 1.0}, self.draft, self.heads, self.seed)

    @property
    def drafted(self) -> list[str]:
        """The words that the draft wrote for this pass."""
        return [words()[word] for word in self.step().drafted]

    @property
    def accepted(self) -> int:
        """How many of them the model kept."""
        return self.step().kept

    @property
    def written(self) -> list[str]:
        """The words that this pass writes."""
        return [words()[word] for word in self.step().words]

    @property
    def reads(self) -> dict[str, int]:
        """The bytes that this pass reads, of weights and cache, and those that the draft read before.

        Of the table of words only the rows of the words read are counted.
        """
        drafted = len(self.drafted)
        rows = len(self.text.split()) + 1 + drafted
        return bytes_read(rows, drafted + 1 if self.passes else rows, drafted, self.heads)

    def table(self) -> str:
        """Return the next words' probabilities, what became of the draft, and what was read."""
        step, at = self.step(), self.place
        p = step.p[at]
        drafted = at < len(step.drafted)
        rows = []
        for i in p.argsort(descending=True, stable=True).tolist():
            q = float(step.q[at, i]) if drafted else 0.0
            both = [f"{q:.4f}", f"{min(q, float(p[i])):.4f}"] if drafted else []
            mark = "✓" if step.words[at] == i else ""
            rows.append([words()[i], f"{p[i]:.4f}", *both, mark])
        head = ["next word", "model", *(["draft", "in both"] if drafted else []), "written"]
        tables = [table_of(head, rows)]
        if step.drafted:
            fate = ["kept"] * step.kept + ["dropped"] * (len(step.drafted) - step.kept)
            if step.kept < len(step.drafted):
                fate[step.kept] = f"{words()[step.words[-1]]} instead"
            chances = zip(step.q.tolist(), step.p.tolist(), step.keep, step.drafted, fate, strict=False)
            checked = [
                [words()[word], f"{q[word]:.4f}", f"{p[word]:.4f}", f"{keep:.4f}", so]
                for q, p, keep, word, so in chances
            ]
            tables.append(table_of(["drafted", "draft", "model", "kept with", "so"], checked))
        read = {name: f"{value:,}" for name, value in self.reads.items()}
        total, new = sum(self.reads.values()), len(step.words)
        counts = [
            *([f"{name}, bytes", value] for name, value in read.items()),
            ["together, bytes", f"{total:,}"],
            ["words written", str(new)],
            ["bytes a word", f"{round(total / new):,}"],
            ["passes so far", str(len(self.passes) + 1)],
            ["words so far", str(sum(self.passes) + new)],
        ]
        return "".join([*tables, table_of(["of this pass", "number"], counts)])

    def caption(self) -> str:
        """Return one sentence that says what the figure shows."""
        return "Decoding pass by pass: what is kept, and what is read."


def _falls(p: Tensor, u: Tensor) -> int:
    """Return the word on which a number between 0 and 1 falls, if words lie side by side."""
    reach = p.cumsum(-1)
    inside = (u < reach).nonzero()
    return int(inside[0] if len(inside) else p.nonzero()[-1])
