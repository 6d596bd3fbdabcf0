"""Two runs for each device, the r-th from the front and the r-th from the back."""

import torch

from answers import right, wrong
from attnlab.distributed import Split

right(lambda n, p: [Split(n, p, "zigzag").positions(r) for r in range(p)], "the package")
right(lambda n, p: [Split(n, p, "zigzag").positions(r).tolist() for r in range(p)], "lists of the package")


@right
def longer_runs_first(n, p):
    """As `tensor_split` cuts: the first runs have a token more."""
    runs = torch.arange(n).tensor_split(2 * p)
    return [torch.cat((runs[r], runs[2 * p - 1 - r])) for r in range(p)]


@right
def longer_runs_last(n, p):
    h, over = divmod(n, 2 * p)
    sizes = [h] * (2 * p - over) + [h + 1] * over
    starts = [sum(sizes[:i]) for i in range(2 * p)]
    return [[t for i in (r, 2 * p - 1 - r) for t in range(starts[i], starts[i] + sizes[i])] for r in range(p)]


@right
def from_both_ends(n, p):
    """Runs are taken off, in turn from the front and from the back."""
    left, held = list(range(n)), []
    for r in range(p):
        size = round(len(left) / (2 * (p - r)))
        front, left = left[:size], left[size:]
        size = round(len(left) / (2 * (p - r) - 1))
        back, left = left[len(left) - size :], left[: len(left) - size]
        held.append(tuple(front + back))
    return tuple(held)


@right
def asks_each_token(n, p):
    """Which run is token t in? The last one that begins no later."""
    owners = [
        max(i for i in range(2 * p) if i * n // (2 * p) <= t < (i + 1) * n // (2 * p)) for t in range(n)
    ]
    return [[t for t in range(n) if min(owners[t], 2 * p - 1 - owners[t]) == r] for r in range(p)]


def paired(pair):
    """Tokens of the runs whose numbers `pair` says."""

    def answer(n, p):
        def run(i):
            return list(range(i * n // (2 * p), (i + 1) * n // (2 * p)))

        return [[t for i in pair(r, p) for t in run(i)] for r in range(p)]

    return answer


wrong("Each device holds one run of tokens")(
    lambda n, p: [list(range(r * n // p, r * n // p + (r + 1) * n // p - r * n // p)) for r in range(p)],
    "contiguous",
)
wrong("Each device holds one run of tokens")(paired(lambda r, p: (2 * r, 2 * r + 1)), "neighbours")
wrong("device p − 1 gets the later token in every round")(
    lambda n, p: [list(range(r, n, p)) for r in range(p)], "striped"
)
wrong("dealt out one by one, back and forth")(
    lambda n, p: [sorted([*range(r, n, 2 * p), *range(2 * p - 1 - r, n, 2 * p)]) for r in range(p)], "a snake"
)
wrong("Device r gets the runs r and p + r")(paired(lambda r, p: (r, r + p)), "r and p + r")
wrong("The devices are in the other order")(paired(lambda r, p: (p - 1 - r, p + r)), "from the middle")
wrong("The run from the back comes first")(paired(lambda r, p: (2 * p - 1 - r, r)), "the back first")


@wrong("The run from the back is reversed")
def backwards(n, p):
    fronts, backs = paired(lambda r, p: [r])(n, p), paired(lambda r, p: [2 * p - 1 - r])(n, p)
    return [front + back[::-1] for front, back in zip(fronts, backs, strict=True)]


wrong("a device holds 8")(paired(lambda r, p: (r, 2 * p - r)), "one run too far")


@wrong("The text is cut into p runs")
def cut_in_p(n, p):
    def run(i):
        return list(range(i * n // p, (i + 1) * n // p))

    return [run(r) + run(p - 1 - r) if 2 * r != p - 1 else run(r) for r in range(p)]


def of_size(size, rest=False):
    def answer(n, p):
        h = size(n, 2 * p)
        runs = [list(range(n))[i * h : (i + 1) * h] for i in range(2 * p)]
        if rest:
            runs[-1] += list(range(2 * p * h, n))
        return [runs[r] + runs[-1 - r] for r in range(p)]

    return answer


wrong("the last tokens are lost")(of_size(lambda n, m: n // m), "runs of n // 2p")
wrong("the last run takes all that is over")(of_size(lambda n, m: n // m, rest=True), "the rest to the last")
wrong("Runs are as long as ⌈n/2p⌉")(of_size(lambda n, m: (n + m - 1) // m), "rounded up")


@wrong("it raised IndexError")
def chunks(n, p):
    """`chunk` gives fewer than it is asked for."""
    runs = torch.arange(n).chunk(2 * p)
    return [torch.cat((runs[r], runs[2 * p - 1 - r])) for r in range(p)]


wrong("Tokens are counted from 1")(
    lambda n, p: [Split(n, p, "zigzag").positions(r) + 1 for r in range(p)], "from 1"
)
wrong("Those are the numbers of runs")(
    lambda n, p: [(r, p + (p - 1 - r)) for r in range(p)], "runs, not tokens"
)
wrong("nobody holds token")(
    lambda n, p: paired(lambda r, p: (r, 2 * p - 1 - r))(max(n - 1, 0), p), "one token fewer"
)
wrong("there are")(lambda n, p: paired(lambda r, p: (r, 2 * p - 1 - r))(n, p + 1), "a device too many")
wrong("two devices hold token")(
    paired(lambda r, p: (r, 2 * p - 1 - r) if r else (0, 1, 2 * p - 1)), "a run twice"
)
wrong("tokens are whole numbers")(
    lambda n, p: [[float(t) + 0.5 for t in range(n)] for _ in range(p)], "halves of tokens"
)
wrong("a list of p lists")(lambda n, p: list(range(n)), "all tokens in one list")
wrong("the tokens of device")(
    lambda n, p: [Split(n, p, "zigzag").positions(r).flip(0) for r in range(p)], "descending"
)
