"""Attention on several devices, step by step: who holds what, who computes, who waits, what is sent."""

from __future__ import annotations

from typing import NamedTuple

import torch
import traitlets

from attnbook.tables import table_of
from attnbook.widgets.figure import STATIC, Figure
from attnlab import masks
from attnlab.distributed import Split
from attnlab.distributed.splits import heads_of

SCHEMES = ("contiguous", "zigzag", "all-to-all")
HEADS, KV_HEADS, WIDTH, BYTES = 8, 2, 64, 2
"""The shape for which bytes are counted; as in src/widgets/math/ring.js."""


class Turn(NamedTuple):
    """What one device does in one step.

    `keys` are the tokens whose keys it has, `pairs` what it computes of them in each of `heads` heads, `sent`
    the bytes that leave it.
    """

    keys: list[int]
    heads: int
    pairs: int
    sent: int


class DevicesInSteps(Figure):
    """Step through attention on several devices: a ring of two kinds, or an exchange of tokens for heads.

    Counted are the pairs of a query and a key that are seen, and a unit of time is one of them in all 8
    heads. A step lasts until its slowest device is done. Sending takes no time here; its bytes are counted,
    for 8 query heads, 2 key-value heads of width 64, and 2 bytes a number.

    Args:
        tokens: 8 to 32; they need not divide evenly.
        devices: 2 to 8.
        scheme: "contiguous" or "zigzag", both a ring, or "all-to-all".
        causal: hide later keys.
        step: how many steps are shown, from 1: as many as devices in a ring, three otherwise.

    Every argument is a trait.

    Raises:
        ValueError: an argument does not fit; the message names it.

    >>> DevicesInSteps().waits(), DevicesInSteps(scheme="zigzag").waits()
    ([48.0, 32.0, 16.0, 0.0], [0.0, 0.0, 0.0, 0.0])
    """

    _esm = STATIC / "ring.js"
    name = "ring"
    state = ("tokens", "devices", "scheme", "causal", "step")
    tokens = traitlets.Int(16).tag(sync=True)
    devices = traitlets.Int(4).tag(sync=True)
    scheme = traitlets.Unicode("contiguous").tag(sync=True)
    causal = traitlets.Bool(True).tag(sync=True)
    step = traitlets.Int(1).tag(sync=True)

    def __init__(
        self,
        tokens: int = 16,
        devices: int = 4,
        scheme: str = "contiguous",
        *,
        causal: bool = True,
        step: int = 1,
    ) -> None:
        if scheme not in SCHEMES:
            raise ValueError(f"scheme must be one of {', '.join(SCHEMES)}, got {scheme!r}")
        limits = {"tokens": (tokens, 8, 32), "devices": (devices, 2, 8)}
        limits["step"] = (step, 1, 3 if scheme == "all-to-all" else devices)
        for name, (value, low, high) in limits.items():
            if not low <= value <= high:
                raise ValueError(f"{name} must be from {low} to {high}, got {value}")
        super().__init__(tokens=tokens, devices=devices, scheme=scheme, causal=causal, step=step)

    @property
    def split(self) -> Split:
        """Who holds which tokens."""
        return Split(self.tokens, self.devices, "zigzag" if self.scheme == "zigzag" else "contiguous")

    def steps(self) -> list[list[Turn]]:
        """Return for each step what each device does in it."""
        split, n, ranks = self.split, self.tokens, range(self.devices)
        seen = masks.causal(n) if self.causal else torch.ones(n, n, dtype=torch.bool)
        held = [split.positions(rank) for rank in ranks]
        if self.scheme != "all-to-all":
            steps = []
            for hop in ranks:
                turns, last = [], hop == self.devices - 1
                for rank in ranks:
                    theirs = held[(rank - hop) % self.devices]
                    pairs = int(seen[held[rank]][:, theirs].sum())
                    sent = 0 if last else len(theirs) * KV_HEADS * 2 * WIDTH * BYTES
                    turns.append(Turn(theirs.tolist(), HEADS, pairs, sent))
                steps.append(turns)
            return steps
        dealt = [heads_of(HEADS, KV_HEADS, self.devices, rank) for rank in ranks]
        given, attended, returned = [], [], []
        for rank in ranks:
            others = [other for other in ranks if other != rank]
            away = sum(len(dealt[o][0]) + 2 * len(set(dealt[o][1])) for o in others) * len(held[rank])
            back = sum(len(held[o]) for o in others) * len(dealt[rank][0])
            given.append(Turn(held[rank].tolist(), 0, 0, away * WIDTH * BYTES))
            attended.append(Turn(list(range(n)), len(dealt[rank][0]), int(seen.sum()), 0))
            returned.append(Turn(held[rank].tolist(), 0, 0, back * WIDTH * BYTES))
        return [given, attended, returned]

    def computes(self) -> list[float]:
        """Return for how long each device computes, in pairs of all heads."""
        return [sum(t.pairs * t.heads for t in turns) / HEADS for turns in zip(*self.steps(), strict=True)]

    def waits(self) -> list[float]:
        """Return for how long each device waits, in pairs of all heads."""
        total = sum(max(turn.pairs * turn.heads for turn in turns) for turns in self.steps()) / HEADS
        return [total - own for own in self.computes()]

    def sent(self) -> list[int]:
        """Return how many bytes leave each device."""
        return [sum(turn.sent for turn in turns) for turns in zip(*self.steps(), strict=True)]

    def table(self) -> str:
        """Return all steps of all devices as an HTML table, whichever step is shown."""
        steps, rows = self.steps(), []
        counted = zip(zip(*steps, strict=True), self.computes(), self.waits(), self.sent(), strict=True)
        for rank, (turns, computes, waits, sent) in enumerate(counted):
            share = percent(round(waits * HEADS), round((waits + computes) * HEADS))
            cells = [_spans(self.split.positions(rank).tolist()), *map(self._did, turns)]
            rows.append([str(rank), *cells, f"{computes:g}", f"{waits:g} ({share} %)", f"{sent:,} B"])
        named = [f"step {number + 1}" for number in range(len(steps))]
        return table_of(["device", "its tokens", *named, "computes", "waits", "sends"], rows)

    def _did(self, turn: Turn) -> str:
        if self.scheme != "all-to-all":
            did = f"{turn.pairs} pair{'s' * (turn.pairs != 1)}" if turn.pairs else "waits"
            return f"keys {_spans(turn.keys)}: {did}"
        if turn.heads:
            return f"{turn.pairs} pairs in {turn.heads} head{'s' * (turn.heads != 1)}"
        return f"sends {turn.sent:,} B"

    def caption(self) -> str:
        """Return one sentence that says what the figure shows."""
        return (
            "Who holds what, who waits and what is sent, step by step: "
            f"{HEADS} heads, {KV_HEADS} key-value heads of width {WIDTH}, {BYTES} bytes a number; "
            "a unit of time is a pair in all heads."
        )


def percent(part: int, whole: int) -> int:
    """Return a share in whole per cent, halves up, as the page's script does.

    >>> percent(1, 8), percent(1, 3)
    (13, 33)
    """
    return (200 * part + whole) // (2 * whole)


def _spans(numbers: list[int]) -> str:
    runs: list[list[int]] = []
    for x in numbers:
        if runs and runs[-1][1] == x - 1:
            runs[-1][1] = x
        else:
            runs.append([x, x])
    return ", ".join(str(a) if a == b else f"{a}–{b}" for a, b in runs) or "none"
