"""Exercises on attention on many devices: the bytes that each scheme sends, and the best scheme for a machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from typing import Any, NamedTuple

from attnbook.checks.exercise import Case, case, exercise, late, mistake
from attnbook.checks.values import Difference, Tolerance, difference

SCHEMES = ("ring", "all-to-all", "heads apart", "split")
Count = Callable[[int, int, int, int, int], float]
"""Numbers that one process sends, of n, p, n_heads, n_kv_heads and d_head."""


def _ring(n: int, p: int, h: int, g: int, d: int) -> int:
    return (p - 1) * (n // p) * 2 * g * d


def _all_to_all(n: int, p: int, h: int, g: int, d: int) -> int:
    return (p - 1) * (n // p) * (2 * h // p + 2 * max(1, g // p)) * d


def _apart(n: int, p: int, h: int, g: int, d: int) -> int:
    return 2 * (p - 1) * (n * h * d // p)


def _split(n: int, p: int, h: int, g: int, d: int) -> int:
    return (p - 1) * h * (d + 1)


COUNTS: dict[str, Count] = dict(zip(SCHEMES, (_ring, _all_to_all, _apart, _split), strict=True))


def _sent(
    size: Callable[[str, int], float] = lambda scheme, b: max(b, 4) if scheme == "split" else b, **counts: Count
) -> Callable:  # fmt: skip
    """Count bytes, with the numbers of a scheme counted in another way."""
    counts = COUNTS | {name.replace("_", " "): count for name, count in counts.items()}
    counts["all-to-all"] = counts.pop("all to all", counts["all-to-all"])

    def answer(scheme, n, p, n_heads, n_kv_heads, d_head, bytes_per_number=2):
        return counts[scheme](n, p, n_heads, n_kv_heads, d_head) * size(scheme, bytes_per_number)

    return answer


def _everywhere(change: Callable[[Count], Count]) -> Callable:
    return _sent(**{name.replace("-", "_").replace(" ", "_"): change(count) for name, count in COUNTS.items()})  # fmt: skip


def bytes_sent(
    scheme: str, n: int, p: int, n_heads: int, n_kv_heads: int, d_head: int, bytes_per_number: int = 2
) -> int:
    """The reference."""
    return _sent()(scheme, n, p, n_heads, n_kv_heads, d_head, bytes_per_number)


SHAPES = [
    ("", (12, 3, 6, 3, 5)),
    ("fewer key-value heads than processes", (24, 6, 12, 2, 5, 2)),
    ("one key-value head", (32, 4, 8, 1, 16, 2)),
    ("as many key-value heads as query heads", (40, 4, 8, 8, 10, 2)),
    ("two processes", (10, 2, 4, 2, 3, 2)),
    ("one process", (10, 1, 4, 2, 3, 2)),
    ("4 bytes a number", (12, 3, 6, 3, 5, 4)),
    ("8 bytes a number", (15, 5, 10, 5, 7, 8)),
    ("one byte a number", (24, 4, 8, 2, 6, 1)),
    ("131,072 tokens on 8 processes, 32 heads, 8 for keys and values", (131072, 8, 32, 8, 128, 2)),
]


def _asked(name: str, scheme: str, sizes: tuple[int, ...]) -> Case:
    hints = {
        "ring": "Each step passes on the keys and values of one part, p − 1 times.",
        "all-to-all": "A part of its tokens' heads stays.",
        "heads apart": "p − 1 pieces to add up, p − 1 to spread.",
        "split": "An output and an lse of each head, to each of the others.",
    }
    names = ("n", "p", "n_heads", "n_kv_heads", "d_head", "bytes_per_number")
    title = f"{scheme}: {name}" if name else ""
    return case(title, hints[scheme], scheme=scheme, **dict(zip(names, sizes)))  # noqa: B905


exercise(
    "devices-bytes",
    "bytes_sent",
    reference=bytes_sent,
    cases=[
        *(_asked(name, scheme, sizes) for (name, sizes), scheme in product(SHAPES, SCHEMES)),
        *late(*(_asked("64 processes", scheme, (2**20, 64, 128, 8, 96, 4)) for scheme in SCHEMES)),
        *late(*(_asked("64 processes and as many key-value heads", scheme, (2**20, 64, 128, 64, 96, 2)) for scheme in SCHEMES)),
    ],
    within=Tolerance(1e-3, 0.0),
    mistakes=[
        mistake("In the ring only keys travel, or only values. Both do.", _sent(ring=lambda n, p, h, g, d: _ring(n, p, h, g, d) / 2)),
        mistake("The ring takes p steps. Nobody needs its own keys a second time: p − 1.", _sent(ring=lambda n, p, h, g, d: n * 2 * g * d)),
        mistake("The ring sends the keys and values of all query heads. A process sends n_kv_heads of them.", _sent(ring=lambda n, p, h, g, d: _ring(n, p, h, h, d))),
        mistake("In each step of the ring the keys and values of the whole text are sent. It is one part: n / p tokens.", _sent(ring=lambda n, p, h, g, d: _ring(n * p, p, h, g, d))),
        mistake("The ring sends its own part alone. It passes on the parts of the others, too: p − 1 in all.", _sent(ring=lambda n, p, h, g, d: (p > 1) * (n // p) * 2 * g * d)),
        mistake("All-to-all counts all heads of the tokens here. One part in p is not sent: its heads stay.",
                _sent(all_to_all=lambda n, p, h, g, d: (p > 1) * (n // p) * p * (2 * h // p + 2 * max(1, g // p)) * d)),
        mistake("All-to-all has a way back: outputs go to those who hold the tokens.",
                _sent(all_to_all=lambda n, p, h, g, d: (p - 1) * (n // p) * (h // p + 2 * max(1, g // p)) * d)),
        mistake("The way back of all-to-all is all there is. Queries, keys and values have to get there first.",
                _sent(all_to_all=lambda n, p, h, g, d: (p - 1) * (n // p) * (h // p) * d)),
        mistake("Where there are fewer key-value heads than processes, all-to-all counts a part of a head. Each process gets a whole one, so some go to several.",
                _sent(all_to_all=lambda n, p, h, g, d: (p - 1) * (n // p) * (2 * h + 2 * g) * d / p)),
        mistake("All-to-all sends every key-value head to every process. It gets those that its query heads read.",
                _sent(all_to_all=lambda n, p, h, g, d: (p - 1) * (n // p) * (2 * h // p + 2 * g) * d)),
        mistake("In all-to-all each query head brings keys and values of its own. Heads that read the same ones need them once.",
                _sent(all_to_all=lambda n, p, h, g, d: (p - 1) * (n // p) * (4 * h // p) * d)),
        mistake("The all-reduce of heads apart sends p − 1 pieces to add them up, and as many again to spread the sums.",
                _sent(heads_apart=lambda n, p, h, g, d: _apart(n, p, h, g, d) // 2)),
        mistake("With heads apart a process sends its whole output to each of the others. In pieces it is less: 2 (p − 1) pieces of one part in p.",
                _sent(heads_apart=lambda n, p, h, g, d: (p - 1) * n * h * d)),
        mistake("With heads apart the outputs of one head are counted. Each token has an output of n_heads · d_head numbers.",
                _sent(heads_apart=lambda n, p, h, g, d: 2 * (p - 1) * n * d / p)),
        mistake("In split decoding the lse is missing: a number for each head, or nobody could merge.", _sent(split=lambda n, p, h, g, d: (p - 1) * h * d)),
        mistake("In split decoding one lse is sent for all heads. Each has its own.", _sent(split=lambda n, p, h, g, d: (p - 1) * (h * d + 1))),
        mistake("In split decoding the partial results of key-value heads are counted. There is one for each query head.", _sent(split=lambda n, p, h, g, d: (p - 1) * g * (d + 1))),
        mistake("In split decoding partial results of all n tokens are counted. It is one new token.", _sent(split=lambda n, p, h, g, d: _split(n, p, h, g, d) * n)),
        mistake("In split decoding partial results take 4 bytes a number at least, also where bytes_per_number is smaller.", _sent(lambda scheme, b: b)),
        mistake("In split decoding a number takes 4 bytes whatever is asked. It may be more.", _sent(lambda scheme, b: 4 if scheme == "split" else b)),
        mistake("Those are numbers. Each takes bytes_per_number bytes.", _sent(lambda scheme, b: 1)),
        mistake("A number takes 2 bytes whatever is asked, and 4 in split decoding. Use bytes_per_number.", _sent(lambda scheme, b: 4 if scheme == "split" else 2)),
        mistake("That is what all processes send together. Count one.", _everywhere(lambda count: lambda n, p, *heads: p * count(n, p, *heads))),
    ],
    praise="Four schemes, shared key-value heads, more processes than those, and numbers of 1 to 8 bytes.",
)  # fmt: skip


class _Nothing(str):
    """A text that nobody returns, and that messages write as what it stands for."""

    def __repr__(self) -> str:
        return "None"


_Nothing.__name__ = type(None).__name__
NOTHING = _Nothing("None, not a text")
"""None in an answer, so that the text "None" is none."""


class Best(NamedTuple):
    """The best scheme, and the seconds of each; NOTHING stands for None, which is no number and no name."""

    scheme: Any
    seconds: Any


class Plan(NamedTuple):
    """What a scheme asks of its slowest device: messages, bytes sent, pairs computed, and bytes held."""

    messages: float
    sent: float
    pairs: float
    held: float


class Machine(NamedTuple):
    """Seconds a message, bytes a second, pairs a second, bytes a device."""

    latency: float
    bandwidth: float
    rate: float
    memory: float


def _plans(n: int, p: int, h: int, g: int, d: int) -> dict[str, Plan]:
    c, own = n // p, max(1, g // p)
    sent, held = 2 * _ring(n, p, h, g, d), 2 * c * (2 * h + 4 * g) * d
    even = h * n * (n + 1) // (2 * p)
    return {
        "ring": Plan(p - 1, sent, h * (c * c * (p - 1) + c * (c + 1) // 2), held),
        "zigzag": Plan(p - 1, sent, even, held),
        "all-to-all": Plan(3 * (p - 1), 2 * _all_to_all(n, p, h, g, d), even, 4 * n * (h // p + own) * d),
    }  # fmt: skip


def _seconds(plan: Plan, machine: Machine) -> float:
    return plan.messages * machine.latency + plan.sent / machine.bandwidth + plan.pairs / machine.rate


def _fits(plan: Plan, machine: Machine) -> bool:
    return plan.held <= machine.memory


def _choice(
    plan: Callable[[str, Plan, tuple[int, ...]], Plan] = lambda name, plan, sizes: plan,
    seconds: Callable[[Plan, Machine], float] = _seconds,
    fits: Callable[[Plan, Machine], bool] = _fits,
    best: Callable[[dict[str, float]], str] = lambda times: min(times, key=times.get),
    late: bool = False,
) -> Callable:
    """Choose a scheme, with one thing wrong; `late` looks at the memory of the fastest alone."""

    def answer(n, p, n_heads, n_kv_heads, d_head, latency, bandwidth, rate, memory):
        machine, sizes = Machine(latency, bandwidth, rate, memory), (n, p, n_heads, n_kv_heads, d_head)
        plans = {name: plan(name, one, sizes) for name, one in _plans(*sizes).items()}
        times = {name: seconds(one, machine) for name, one in plans.items()}
        fit = {name: time for name, time in times.items() if fits(plans[name], machine)}
        chosen = best(fit) if fit else NOTHING
        if late:
            chosen = best(times) if best(times) in fit else NOTHING
        return Best(chosen, {name: fit.get(name, NOTHING) for name in times})

    return answer


def best_scheme(
    n: int, p: int, n_heads: int, n_kv_heads: int, d_head: int, latency: float, bandwidth: float, rate: float, memory: float
) -> Best:  # fmt: skip
    """The reference."""
    return _choice()(n, p, n_heads, n_kv_heads, d_head, latency, bandwidth, rate, memory)


def _named(found: Any) -> Any:
    """Write None as a text that nobody hands in, in the two places where it says that something does not fit."""
    if not isinstance(found, tuple | list) or len(found) != 2:
        return found
    scheme, seconds = found
    if isinstance(seconds, Mapping):
        seconds = {name: NOTHING if time is None else time for name, time in seconds.items()}
    return Best(NOTHING if scheme is None else scheme, seconds)


EXACT = Tolerance(0.0, 1e-6)


def _seconds_first(got: Any, want: Best, **_: Any) -> Difference | None:
    """Compare the seconds, then the choice that follows from them."""
    if isinstance(got, Best) and isinstance(got.seconds, Mapping):
        found = difference(got.seconds, want.seconds, EXACT, "The dictionary of seconds")
        if found:
            return found
    return difference(got, want, EXACT)


def _for(*names: str, **change: Callable) -> Callable:
    """A change of the plans of some schemes."""

    def plan(name: str, plan: Plan, sizes: tuple[int, ...]) -> Plan:
        return plan._replace(**{what: new(plan, *sizes) for what, new in change.items()}) if name in names else plan  # fmt: skip

    return plan


ALL = ("ring", "zigzag", "all-to-all")
RINGS = ALL[:2]
FAST = {"latency": 5e-6, "bandwidth": 2e11, "rate": 1e12, "memory": 80e9}
SLOW = {"latency": 5e-2, "bandwidth": 1e8, "rate": 1e9, "memory": 4e9}
LINKS = {"latency": 1e-5, "bandwidth": 5e7, "rate": 1e11, "memory": 4e9}


def _machine(name: str, hint: str, sizes: tuple[int, ...], machine: Mapping[str, float], **change: float) -> Case:  # fmt: skip
    names = ("n", "p", "n_heads", "n_kv_heads", "d_head")
    return case(name, hint, **dict(zip(names, sizes, strict=True)), **{**machine, **change})


FEW, MANY, WIDE = (4096, 8, 32, 2, 64), (4096, 8, 32, 32, 64), (131072, 8, 32, 8, 128)
RING_HELD, ALL_HELD = ({name: plan.held for name, plan in _plans(*FEW).items()}[one] for one in RINGS[:1] + ALL[2:])  # fmt: skip

exercise(
    "devices-best",
    "best_scheme",
    reference=best_scheme,
    read=_named,
    cases=[
        _machine("small numbers", "Messages, bytes and pairs can be counted by hand.", (8, 2, 4, 2, 3), {"latency": 1.0, "bandwidth": 10.0, "rate": 5.0, "memory": 1000.0}),
        _machine("a fast machine and a long text", "", WIDE, FAST),
        _machine("slow messages", "Their number decides.", MANY, SLOW),
        _machine("slow links and few key-value heads", "", (4096, 4, 32, 2, 64), LINKS),
        _machine("slow links and as many key-value heads as heads", "", MANY, LINKS),
        _machine("fewer key-value heads than devices", "All-to-all gives each device a whole one.", FEW, LINKS),
        _machine("room for a ring alone", "All-to-all holds a whole key-value head on each device.", FEW, LINKS, memory=RING_HELD),
        _machine("a byte too little for a ring", "Then no scheme is best: None.", FEW, LINKS, memory=RING_HELD - 1),
        _machine("no room at all", "Then no scheme is best: None.", MANY, SLOW, memory=1000.0),
        _machine("room for all, to the byte", "What takes all of the memory fits.", FEW, LINKS, memory=ALL_HELD),
        _machine("room for all-to-all alone", "A ring holds keys and values twice: those here and those that come. It would be the fastest here.", MANY, SLOW, memory=_plans(*MANY)["all-to-all"].held),
        _machine("a byte too little for all-to-all", "Then no scheme is best: None.", MANY, SLOW, memory=_plans(*MANY)["all-to-all"].held - 1),
        _machine("slow arithmetic", "Pairs decide, those of the device with most of them.", (120, 3, 6, 3, 10), {"latency": 1e-6, "bandwidth": 1e9, "rate": 1e4, "memory": 1e6}),
        *late(_machine("64 devices", "", (2**20, 64, 128, 8, 96), FAST), _machine("64 devices and as many key-value heads", "", (2**19, 64, 64, 64, 80), SLOW)),
    ],
    compare=_seconds_first,
    within=EXACT,
    mistakes=[
        mistake("The ring has the pairs of a device on average. All wait for the last one, which sees every key.",
                _choice(_for("ring", pairs=lambda plan, n, p, h, g, d: h * n * (n + 1) / (2 * p)))),
        mistake("In the ring the last device's own keys are counted as if all were visible. Of them a query sees those up to itself.",
                _choice(_for("ring", pairs=lambda plan, n, p, h, g, d: h * n * (n // p)))),
        mistake("Pairs are counted without the causal mask.", _choice(_for(*ALL, pairs=lambda plan, n, p, h, g, d: h * n * n / p))),
        mistake("Pairs are halved for the mask, n²/2. A token sees itself: n (n + 1) / 2.",
                _choice(_for("zigzag", "all-to-all", pairs=lambda plan, n, p, h, g, d: h * n * n / (2 * p)))),
        mistake("The pairs of one head are counted. A device has more.", _choice(_for(*ALL, pairs=lambda plan, n, p, h, g, d: plan.pairs / h))),
        mistake("The pairs of all devices are counted for each. They work at the same time.",
                _choice(_for(*ALL, pairs=lambda plan, n, p, h, g, d: h * n * (n + 1) / 2))),
        mistake("All-to-all sends to each of the others three times: queries; keys and values; outputs.", _choice(_for("all-to-all", messages=lambda plan, n, p, h, g, d: p - 1))),
        mistake("Messages are p, or a multiple of it. A device sends none to itself: p − 1.", _choice(_for(*ALL, messages=lambda plan, n, p, h, g, d: plan.messages / (p - 1) * p))),
        mistake("Latency is counted once. Every message costs it.", _choice(seconds=lambda plan, m: _seconds(plan._replace(messages=1), m))),
        mistake("Messages cost nothing. Each takes the latency.", _choice(seconds=lambda plan, m: _seconds(plan._replace(messages=0), m))),
        mistake("Bytes cost nothing. Divide them by the bandwidth.", _choice(seconds=lambda plan, m: _seconds(plan._replace(sent=0), m))),
        mistake("Sending and computing are laid over each other: the longer one counts. In this model they follow each other.",
                _choice(seconds=lambda plan, m: max(_seconds(plan._replace(pairs=0), m), plan.pairs / m.rate))),
        mistake("Numbers are sent and held as one byte. Here a number takes 2.", _choice(_for(*ALL, sent=lambda plan, *_: plan.sent / 2, held=lambda plan, *_: plan.held / 2))),
        mistake("Numbers are sent as one byte. A number takes 2.", _choice(_for(*ALL, sent=lambda plan, *_: plan.sent / 2))),
        mistake("Numbers are held as one byte. A number takes 2.", _choice(_for(*ALL, held=lambda plan, *_: plan.held / 2))),
        mistake("Where there are fewer key-value heads than devices, all-to-all has a part of one. Each device gets and holds a whole one.",
                _choice(_for("all-to-all", sent=lambda plan, n, p, h, g, d: 4 * (p - 1) * (n // p) * (h + g) * d / p, held=lambda plan, n, p, h, g, d: 4 * n * (h + g) * d / p))),
        mistake("A ring holds the keys and values that are here. Those that come need room, too.",
                _choice(_for(*RINGS, held=lambda plan, n, p, h, g, d: 4 * (n // p) * (h + g) * d))),
        mistake("Memory is not looked at.", _choice(fits=lambda plan, m: True)),
        mistake("What takes all of the memory, to the byte, fits.", _choice(fits=lambda plan, m: plan.held < m.memory)),
        mistake("The fastest is chosen first, and None where it does not fit. Another one may fit.", _choice(late=True)),
        mistake("The slowest is chosen.", _choice(best=lambda times: max(times, key=times.get))),
    ],
    praise="Seconds of three schemes on machines of very different kinds, what fits, and the best of those.",
)  # fmt: skip
