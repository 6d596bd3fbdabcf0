"""How long attention on many devices takes, from the speeds of machines that nobody here has.

`layer` takes an `Accelerator`, its speed of arithmetic and of its links, and bounds from both sides what one
causal layer computes and sends.

References: Liu et al. 2023, section 3; Jacobs et al. 2023, section 3.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from attnlab.arguments import at_least
from attnlab.distributed import Split, all_to_all_bytes, ring_bytes
from attnlab.transformer.shapes import Shape


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
