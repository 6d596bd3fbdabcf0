"""How long attention on many devices takes: three costs for what was measured, two speeds for what was not.

A process sends messages and bytes, and computes pairs. `fit` finds what each of them costs on a machine where
runs were measured, and `Costs.seconds` says how long other runs should take there. For machines that nobody
here has, `layer` takes an `Accelerator`, its speed of arithmetic and of its links, and bounds from
both sides what one causal layer computes and sends.

References: Liu et al. 2023, section 3; Jacobs et al. 2023, section 3.2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from attnlab.arguments import at_least
from attnlab.distributed import Split, all_to_all_bytes, ring_bytes
from attnlab.transformer.shapes import Shape


class Costs(NamedTuple):
    """What a machine takes, in seconds.

    Args:
        message: for a message, however short.
        byte: for a byte that is sent.
        pair: for a query and a key of one head.
    """

    message: float
    byte: float
    pair: float

    def seconds(self, counts: Sequence[float]) -> float:
        """Return the seconds of a run from what `counts` counts.

        >>> Costs(0.5, 0.01, 0.001).seconds([2, 100, 1000])
        3.0
        """
        return sum(cost * count for cost, count in zip(self, counts, strict=True))


def counts(run: Mapping[str, Any], heads: int) -> tuple[int, int, float]:
    """Return messages, bytes and pairs of the busiest process, forward, of a run in `distributed.json`.

    Args:
        run: one of its "runs".
        heads: of the layer; in the all-to-all scheme a process has its share of them.

    >>> sent = {"messages": [3, 3], "sent": [80, 70], "scores": [10, 20]}
    >>> counts({"scheme": "ring", "world": 2, "forward": sent}, 8)
    (3, 80, 160)
    """
    here = run["forward"]
    mine = heads / run["world"] if run["scheme"] == "all to all" else heads
    return max(here["messages"]), max(here["sent"]), max(here["scores"]) * mine


def took(run: Mapping[str, Any]) -> float:
    """Return the seconds of the process that was done last, forward."""
    return max(run["forward"]["seconds"])


def fit(runs: Sequence[Mapping[str, Any]], heads: int) -> Costs:
    """Find the three costs that come nearest to measured runs, each error as a share of what was measured.

    Args:
        runs: of "runs" in `distributed.json`.
        heads: of the layer.

    Raises:
        ValueError: there are fewer runs than costs, or a cost comes out negative.
    """
    table = np.array([counts(run, heads) for run in runs], dtype=float).reshape(-1, len(Costs._fields))
    if len(table) < len(Costs._fields):
        raise ValueError(f"three costs need at least three runs, got {len(table)}")
    measured = np.array([took(run) for run in runs])
    found, *_ = np.linalg.lstsq(table / measured[:, None], np.ones(len(table)), rcond=None)
    if found.min() < 0:
        raise ValueError(f"these runs give a negative cost: {dict(zip(Costs._fields, found, strict=True))}")
    return Costs(*found.tolist())


@dataclass(frozen=True)
class Accelerator:
    """A device among many like it.

    Args:
        name: what it is called.
        rate: operations a second in attention.
        near: bytes a second that it sends to devices of its own island.
        far: bytes a second that it sends to devices elsewhere.
        island: how many devices are near one another.
    """

    name: str
    rate: float
    near: float
    far: float
    island: int

    def sending(self, sent: float, among: int, *, around: bool) -> float:
        """Return the seconds in which a device sends.

        Args:
            sent: bytes, to all others alike, or to the next one.
            among: how many devices.
            around: each sends to the next one alone, and the slowest link holds up all.

        >>> Accelerator("", rate=1, near=4, far=1, island=2).sending(12, 4, around=False)
        8.0
        """
        if among <= self.island:
            return sent / self.near
        if around:
            return sent / self.far
        inside = sent * (self.island - 1) / (among - 1)
        return max(inside / self.near, (sent - inside) / self.far)


class Seconds(NamedTuple):
    """From all sending hidden behind arithmetic, at full speed, to none hidden, at half the speed."""

    least: float
    most: float


SCHEMES = "ring", "all to all"
BYTES = 2
"""Of a number that is sent."""


def computing(n: int, devices: int, machine: Accelerator, shape: Shape) -> float:
    """Return the seconds of arithmetic of a device in one causal attention, forward, where all do the same.

    >>> from attnlab.transformer.shapes import PUBLISHED
    >>> fast = Accelerator("", rate=512 * 32 * 3, near=1, far=1, island=8)
    >>> computing(2, 1, fast, PUBLISHED["Llama 3 8B"])  # 32 heads of 128, three pairs
    1.0
    """
    return 4 * shape.d_head * shape.n_heads * n * (n + 1) / 2 / devices / machine.rate


def layer(scheme: str, n: int, devices: int, machine: Accelerator, shape: Shape) -> Seconds | None:
    """Bound the seconds of one causal attention, forward, its projections and the ring's merging left out.

    One ring goes through all devices, and is dealt in zigzag, so that all have the same pairs. It can hide
    what it sends behind what it computes, step by step. In the exchange all wait for what they are sent.

    Args:
        scheme: one of `SCHEMES`.
        n: tokens.
        devices: how many; they should divide the tokens, and for the ring twice as many should.
        machine: what each of them is.
        shape: of the model.

    Returns:
        Both bounds, or None where a scheme has fewer heads than devices.

    Raises:
        ValueError: there is no such scheme, or a count is smaller than 1.
    """
    at_least(1, n=n, devices=devices)
    if scheme not in SCHEMES:
        raise ValueError(f"scheme must be one of {', '.join(SCHEMES)}; got {scheme!r}")
    heads, kv_heads, d = shape.n_heads, shape.n_kv_heads, shape.d_head
    computes = computing(n, devices, machine, shape)
    if scheme == "ring":
        split = Split(n, devices, "zigzag")
        sent = ring_bytes(split, 0, n_kv_heads=kv_heads, d_head=d, bytes_per_number=BYTES)
        sending = machine.sending(sent, devices, around=True)
        step, hops = computes / devices, devices - 1
        hidden = step + hops * max(step, sending / max(1, hops))
        return Seconds(hidden, computes + 2 * sending)
    if devices > heads:
        return None
    split = Split(n, devices)
    sent = all_to_all_bytes(split, 0, n_heads=heads, n_kv_heads=kv_heads, d_head=d, bytes_per_number=BYTES)
    sending = machine.sending(sent, devices, around=False)
    return Seconds(computes + sending, computes + 2 * sending)
