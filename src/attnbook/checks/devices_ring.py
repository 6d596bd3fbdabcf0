"""Exercises on attention on many devices: one step of a ring, and a split that gives all the same to do."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import torch
from torch import Tensor

from attnbook.checks.exercise import Case, at_most, case, draws, exercise, late, mistake, precisions


class Ring(NamedTuple):
    """What all devices have found so far, and what they hold next."""

    output: Any
    lse: Any
    keys: Any
    values: Any
    owner: Any


MANY = 50
"""So many devices that a table of all pairs is ten times as large as what a step needs."""
Visible = Callable[[Tensor, Tensor, int], Tensor]


def _whole_text(queries: Tensor, keys: Tensor, c: int) -> Tensor:
    """Whether a key comes no later than a query, by their places in the text."""
    return keys <= queries


def _moved(k: Tensor, v: Tensor, owner: list[int]) -> tuple[Tensor, Tensor, list[int]]:
    return k.roll(1, 0), v.roll(1, 0), [owner[r - 1] for r in range(len(owner))]


def _weighed(out: Tensor, lse: Tensor, scores: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    """What was found before counts as one more key, whose score is its lse."""
    both = torch.cat((lse[..., None], scores), -1)
    top = both.amax(-1, keepdim=True)
    top = top.masked_fill(top == -math.inf, 0.0)
    e = (both - top).exp()
    total = e.sum(-1, keepdim=True)
    w = e / total.masked_fill(total == 0, 1.0)
    return w[..., :1] * out + w[..., 1:] @ v, (top + total.log())[..., 0]


def _step(
    *,
    visible: Visible = _whole_text,
    hides: Callable[[bool], bool] = lambda causal: causal,
    scale: Callable[[int], float] = lambda d: d**0.5,
    join: Callable[[Tensor, Tensor, Tensor, Tensor], tuple[Tensor, Tensor]] = _weighed,
    move: Callable[[Tensor, Tensor, list[int]], tuple] = _moved,
    first: bool = False,
) -> Callable:
    """One step of a ring, with one part exchanged; `first` moves keys before they are used."""

    def answer(out, lse, q, k, v, owner, causal):
        p, c, d = q.shape
        then = move(k, v, owner)
        k, v, owner = then if first else (k, v, owner)
        scores = q @ k.mT / scale(d)  # (p, c, c)
        if hides(causal):
            place = torch.arange(p * c).view(p, c)
            seen = visible(place[:, :, None], place[owner][:, None, :], c)
            scores = scores.masked_fill(~seen, -math.inf)
        return Ring(*join(out, lse, scores, v), *then)

    return answer


def _block(out: Tensor, lse: Tensor, scores: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    """What this step finds, and nothing from before."""
    return _weighed(torch.zeros_like(out), torch.full_like(lse, -math.inf), scores, v)


def _alike(out, lse, scores, v):
    return (out + _block(out, lse, scores, v)[0]) / 2, _weighed(out, lse, scores, v)[1]


def _added(out, lse, scores, v):
    return out + _block(out, lse, scores, v)[0], _weighed(out, lse, scores, v)[1]


def _its_lse(which: str) -> Callable:
    def join(out, lse, scores, v):
        return _weighed(out, lse, scores, v)[0], lse if which == "old" else _block(out, lse, scores, v)[1]

    return join


def _undivided(out, lse, scores, v):
    total = _weighed(out, lse, scores, v)[1]
    return out + (scores - total[..., None].masked_fill(total[..., None] == -math.inf, 0.0)).exp() @ v, total


def _overflows(out, lse, scores, v):
    e, before = scores.exp(), lse.exp()[..., None]
    total = before + e.sum(-1, keepdim=True)
    return (before * out + e @ v) / total.masked_fill(total == 0, 1.0), total.log()[..., 0]


def _empty_rows(out, lse, scores, v):
    both = torch.cat((lse[..., None], scores), -1)
    w = both.softmax(-1)
    return w[..., :1] * out + w[..., 1:] @ v, both.logsumexp(-1)


def _to_the_one_before(k, v, owner):
    return k.roll(-1, 0), v.roll(-1, 0), [*owner[1:], owner[0]]


ARGUMENTS = {
    "out": "p c w",
    "lse": "p c",
    "q": "p c d",
    "k": "p c d",
    "v": "p c w",
    "owner": lambda s, g: _after(int(torch.randint(0, s.p, (1,), generator=g)), s.p),
    "causal": lambda s, g: bool(torch.randint(0, 3, (1,), generator=g)),
}


def _after(steps: int, p: int) -> list[int]:
    """Whose keys each device holds after so many steps."""
    return [(r - steps) % p for r in range(p)]


def _held(name: str, hint: str, p: int, c: int, d: int, w: int, owner: list[int], causal: bool, *,
          start: bool = False, loud: float = 0.0, apart: float = 0.0, seed: int = 0) -> Case:  # fmt: skip
    """A case by hand: at the start of the ring, or where all scores lie about a height."""
    draw = torch.Generator().manual_seed(seed + 10 * p + c)
    shapes = (p, c, w), (p, c), (p, c, d), (p, c, d), (p, c, w)
    out, lse, q, k, v = (torch.randn(shape, generator=draw) for shape in shapes)
    if start:
        out, lse = torch.zeros_like(out), torch.full_like(lse, -math.inf)
    if loud:  # halves, and a root of 2: scores are exact, so that rounding at that height shifts no weight
        q, k, lse = (2 * q).round() / 2, (2 * k).round() / 2, (2 * lse).round() / 2 + loud
        q[..., 0], k[..., 0] = 2 * loud, 1.0
    if apart:  # so far that an lse is exactly its largest score: up there single precision rounds by much
        i, r = torch.arange(c), torch.arange(p)[:, None]
        q[..., 1:], k[..., 1:] = 0.0, 0.0
        q[..., 1], k[..., 1] = (i % 2 * 4.0 - 2) * apart, (i + r) % c - 1.0
        lse = loud + apart * ((i + r) % 4 - 0.5)
    return case(name, hint, out=out, lse=lse, q=q, k=k, v=v, owner=owner, causal=causal)


exercise(
    "devices-ring",
    "ring_step",
    reference=lambda out, lse, q, k, v, owner, causal: _step()(out, lse, q, k, v, owner, causal),
    cases=[
        _held("the second step, not causal", "", 3, 4, 5, 2, [2, 0, 1], False),
        _held("the second step, causal", "Device 0 holds the last tokens' keys: none of them is visible to it.", 3, 4, 5, 2, [2, 0, 1], True),
        _held("the first step, causal", "Each device holds its own keys, and has found nothing yet: its output is 0 and its lse −∞.", 3, 4, 5, 2, [0, 1, 2], True, start=True),
        _held("the first step, not causal", "", 3, 4, 5, 2, [0, 1, 2], False, start=True),
        _held("devices that see none of their first keys", "They have still found nothing: output 0, lse −∞.", 4, 3, 2, 5, [1, 2, 3, 0], True, start=True),
        *draws(**ARGUMENTS, seeds=8),
        _held("keys dealt out in another order", "`owner` says whose they are.", 4, 3, 5, 6, [1, 3, 0, 2], True),
        _held("keys dealt out in another order, the first at home", "`owner` says whose they are, each for itself.", 4, 3, 5, 6, [0, 2, 3, 1], True),
        _held("one device", "It passes its keys on to itself.", 1, 5, 4, 3, [0], True),
        _held("a token each", "", 5, 1, 3, 2, [3, 4, 0, 1, 2], True),
        _held("as many devices as tokens each, and as wide", "", 4, 4, 4, 4, [3, 0, 1, 2], True),
        _held("scores and lses of about 96", "Their exponentials are larger than any number of single precision: take off the largest of the query first.", 3, 4, 4, 3, [1, 2, 0], False, loud=96.0),
        _held("scores and lses of about 2,048", "In double precision, too, their exponentials are infinite: take off the largest of the query first.", 3, 4, 4, 3, [1, 2, 0], False, loud=2048.0, apart=64.0),
        _held("scores and lses of about −131,072, causal", "Hidden keys lie below every visible one: no number of your own can stand for −∞.", 3, 4, 4, 3, [0, 2, 1], True, loud=-(2.0**17), apart=64.0),
        *late(_held("other numbers, whose keys come from elsewhere", "", 3, 4, 5, 2, [1, 2, 0], True, seed=5)),
        *late(_held(f"{MANY} devices", "", MANY, 12, 3, 2, _after(20, MANY), True)),
    ],
    promises=[
        precisions("float64"),
        *at_most(
            "The results are right, but a table of all pairs of the whole text is made. A step needs the pairs of each device's queries and the keys that it holds: p times c by c.",
            largest=lambda out, lse, q, k, v, owner, causal: 4 * len(q) * q.shape[1] * (q.shape[1] + q.shape[2] + v.shape[2]) if len(q) >= MANY else math.inf,
        ),
    ],
    mistakes=[
        mistake("What was found before is lost. Merge it with what this step finds.", _step(join=_block)),
        mistake("What was found before and what this step finds count alike. Weigh them by exp(lse).", _step(join=_alike)),
        mistake("What this step finds is added to what was found before. Both are means: weigh them, with weights that sum to 1.", _step(join=_added)),
        mistake("The new keys are weighed right, but what was found before keeps all of its weight. It shrinks as the sum grows.", _step(join=_undivided)),
        mistake("The lse stays what it was. It is that of all keys so far.", _step(join=_its_lse("old"))),
        mistake("The lse is that of this step alone. It is that of all keys so far.", _step(join=_its_lse("new"))),
        mistake("Every block has the mask of the first step. Places in the whole text count: a query of device r sees all keys of an earlier owner, and none of a later one.",
                _step(visible=lambda i, j, c: j % c <= i % c)),
        mistake("A device's own keys are masked, those of later owners are not. They come later: none of them is visible.", _step(visible=lambda i, j, c: (j // c != i // c) | (j <= i))),
        mistake("Whole blocks are hidden or visible. Among a device's own keys a query sees those up to itself.", _step(visible=lambda i, j, c: j // c <= i // c)),
        mistake("A query does not see itself. Its own key is visible to it.", _step(visible=lambda i, j, c: j < i)),
        mistake("A query sees later keys, and none before it.", _step(visible=lambda i, j, c: j >= i)),
        mistake("`causal` is not used: nothing is hidden.", _step(hides=lambda causal: False)),
        mistake("Later keys are hidden even where `causal` is False.", _step(hides=lambda causal: True)),
        mistake("Scores are not scaled. Divide them by the root of d.", _step(scale=lambda d: 1.0)),
        mistake("Scores are divided by d. Divide them by its root.", _step(scale=float)),
        mistake("exp is taken before anything is taken off, and overflows where scores are large. Take off the largest of a query first, its lse among them.", _step(join=_overflows)),
        mistake("Who has seen no key yet gets NaN: −∞ − (−∞). It keeps output 0 and lse −∞.", _step(join=_empty_rows)),
        mistake("Keys go to the device before. Device r passes them on to device r + 1, the last one to the first.", _step(move=_to_the_one_before)),
        mistake("Keys and values stay where they are. Pass them on.", _step(move=lambda k, v, owner: (k, v, owner))),
        mistake("The owner stays behind when keys and values move. It says whose keys a device holds *next*.", _step(move=lambda k, v, owner: (*_moved(k, v, owner)[:2], owner))),
        mistake("Keys move, values don't. Pass both on.", _step(move=lambda k, v, owner: (k.roll(1, 0), v, _moved(k, v, owner)[2]))),
        mistake("Keys are passed on before they are used. A device attends to what it holds now; the next step uses what comes.", _step(first=True)),
    ],
    praise="One step of a ring, causal or not, from the first on, with keys in any order around it.",
)  # fmt: skip


def _cut(cuts: list[int]) -> list[list[int]]:
    return [list(range(start, stop)) for start, stop in pairwise(cuts)]


def _evenly(n: int, pieces: int) -> list[int]:
    return [i * n // pieces for i in range(pieces + 1)]


def zigzag(n: int, p: int) -> list[list[int]]:
    """The reference."""
    return _paired(lambda runs, r, p: runs[r] + runs[2 * p - 1 - r])(n, p)


def _paired(
    pair: Callable[[list[list[int]], int, int], list[int]] = lambda runs, r, p: runs[r] + runs[2 * p - 1 - r],
    cuts: Callable[[int, int], list[int]] = _evenly,
) -> Callable:
    """A split into 2p runs, with one thing wrong."""

    def answer(n: int, p: int) -> list[list[int]]:
        runs = _cut(cuts(n, 2 * p))
        return [pair(runs, r, p) for r in range(p)]

    return answer


def _dealt(deck: Callable[[int, int], int]) -> Callable:
    """Tokens dealt out one by one: which device gets token i of n."""

    def answer(n: int, p: int) -> list[list[int]]:
        return [[i for i in range(n) if deck(i, p) == r] for r in range(p)]

    return answer


def _back_and_forth(i: int, p: int) -> int:
    return min(i % (2 * p), 2 * p - 1 - i % (2 * p))


def _halves(n: int, p: int) -> list[list[int]]:
    """Runs r and p - 1 - r of p runs, each cut in two."""
    runs = _cut(_evenly(n, p))
    return [runs[r] + (runs[p - 1 - r] if p - 1 - r != r else []) for r in range(p)]


def _pairs(tokens: list[int]) -> int:
    """The pairs of query and key that a device computes under a causal mask."""
    return sum(tokens) + len(tokens)


def _listed(found: Any) -> list[list[int]]:
    """Take lists, tuples, ranges or tensors of tokens, one a device, to lists."""
    if isinstance(found, str | bytes | dict) or not hasattr(found, "__iter__"):
        raise ValueError("Return a list with the tokens of each device.")
    devices = []
    for one in found:
        tokens = one.tolist() if hasattr(one, "tolist") else one
        if isinstance(tokens, str | bytes | dict) or not hasattr(tokens, "__iter__"):
            raise ValueError("Return a list of p lists: the tokens of device 0, of device 1, and so on.")
        tokens = [t.item() if hasattr(t, "item") else t for t in tokens]
        for t in tokens:
            if isinstance(t, bool) or not (
                isinstance(t, int) or (hasattr(t, "denominator") and t.denominator == 1)
            ):
                raise ValueError(f"Tokens are whole numbers from 0 to n − 1; {t!r} is none.")
        devices.append([int(t) for t in tokens])
    return devices  # fmt: skip


def _runs(tokens: list[int], first: int, stop: int) -> tuple[int, int] | None:
    """How many tokens of first...stop - 1 a device took from the front and from the back; None if not so."""
    if tokens == list(range(first, stop)):  # it holds all that is left: its runs meet, wherever they do
        return len(tokens) // 2, len(tokens) - len(tokens) // 2
    front = next((i for i, t in enumerate(tokens) if t != first + i), len(tokens))
    back = len(tokens) - front
    return (front, back) if tokens[front:] == list(range(stop - back, stop)) else None


def _balanced(got: list[list[int]], want: list[list[int]], n: int, p: int) -> str | None:
    """Say what keeps a split from being a zigzag one; any cut will do whose runs differ by a token at most."""
    if len(got) != p:
        return f"There should be a list of tokens for each of {p} devices, there are {len(got)}."
    held = sorted(t for tokens in got for t in tokens)
    if held != list(range(n)):
        odd = next((t for t in held if not 0 <= t < n), None)
        if odd is not None:
            return f"Tokens are numbered 0 to {n - 1}; a device holds {odd}."
        lost = next((t for t in range(n) if t not in set(held)), None)
        if lost is not None:
            return f"Nobody holds token {lost}."
        return f"Two devices hold token {next(a for a, b in pairwise(held) if a == b)}."
    work = [_pairs(tokens) for tokens in got]
    if n % (2 * p) == 0 and min(work) < max(work):
        low, high = work.index(min(work)), work.index(max(work))
        return f"Device {low} computes {work[low]:,} pairs of query and key, device {high} {work[high]:,}."
    first, stop, lengths = 0, n, []
    for r, tokens in enumerate(got):
        if tokens != sorted(tokens):
            return f"The tokens of device {r} should be in ascending order."
        taken = _runs(tokens, first, stop)
        if taken is None:
            rest = "" if r == 0 else " of what is left"
            return f"Device {r} should hold a run of tokens from the front{rest} and one from the back."
        first, stop = first + taken[0], stop - taken[1]
        lengths += taken
    if max(lengths) - min(lengths) > 1:
        return f"Its shortest run has {min(lengths)} tokens, its longest {max(lengths)}; they should differ by one at most."
    return None


exercise(
    "devices-zigzag",
    "zigzag",
    reference=zigzag,
    read=_listed,
    compare=_balanced,
    cases=[
        case("", n=8, p=2),
        case("", n=12, p=3),
        case("", n=40, p=4),
        case("one device", "It holds everything.", n=10, p=1),
        case("two tokens a device", "Each run is one token.", n=10, p=5),
        case("", n=96, p=8),
        case("a token more than divides", n=13, p=3),
        case("a token fewer than divides", n=23, p=4),
        case("half a run more than divides", n=28, p=4),
        case("an odd number of devices, 50 tokens", n=50, p=7),
        case("fewer tokens than runs", "Some runs are empty.", n=5, p=4),
        case("fewer tokens than devices", "Some devices hold none.", n=2, p=3),
        case("no token", n=0, p=2),
        *late(case("many devices", n=1000, p=48), case("a long text", n=4096, p=16)),
    ],
    mistakes=[
        mistake("Each device holds one run of tokens. Under a causal mask the last then has most to do: give each a run from the front and one from the back.",
                lambda n, p: _cut(_evenly(n, p))),
        mistake("Tokens are dealt out one by one: device p − 1 gets the later token in every round. And a run keeps a block of keys whole.", _dealt(lambda i, p: i % p)),
        mistake("Tokens are dealt out one by one, back and forth. All have the same to do, but nobody holds a run: cut the text into 2p of them.", _dealt(_back_and_forth)),
        mistake("Device r gets the runs r and p + r: the later one of both, twice. Give it the r-th from the front and the r-th from the *back*.",
                _paired(lambda runs, r, p: runs[r] + runs[p + r])),
        mistake("The devices are in the other order: device 0 holds the first run and the last.", lambda n, p: zigzag(n, p)[::-1]),
        mistake("The run from the back comes first. Tokens of a device are in ascending order.", _paired(lambda runs, r, p: runs[2 * p - 1 - r] + runs[r])),
        mistake("The run from the back is reversed. Tokens of a device are in ascending order.", _paired(lambda runs, r, p: runs[r] + runs[2 * p - 1 - r][::-1])),
        mistake("The text is cut into p runs, and each is held twice. Cut it into 2p.", _halves),
        mistake("Where 2p does not divide n, the last tokens are lost.", _paired(cuts=lambda n, pieces: [i * (n // pieces) for i in range(pieces + 1)])),
        mistake("Where 2p does not divide n, the last run takes all that is over. Runs should differ by one token at most.",
                _paired(cuts=lambda n, pieces: [i * (n // pieces) for i in range(pieces)] + [n])),
        mistake("Runs are as long as ⌈n/2p⌉, and the last ones are short or empty. They should differ by one token at most.",
                _paired(cuts=lambda n, pieces: [min(n, i * -(-n // pieces)) for i in range(pieces + 1)])),
        mistake("Tokens are counted from 1. The first is 0.", lambda n, p: [[t + 1 for t in tokens] for tokens in zigzag(n, p)]),
        mistake("Those are the numbers of runs. Return the tokens in them.", lambda n, p: [[r, 2 * p - 1 - r] for r in range(p)]),
    ],
    praise="Every token once, two runs a device, and the same number of pairs for all where 2p divides n.",
)  # fmt: skip
