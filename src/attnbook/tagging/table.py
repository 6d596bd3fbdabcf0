"""The table of taggers that the chapters show: which columns, in which form."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from attnbook.experiments import Comparison
from attnbook.experiments.rows import spread_of, with_spread

LOOKUP = "most frequent tag"
"""The row that nothing trains."""
ACCURACIES = ("all words", "strongly ambiguous", "unknown")
KEYS = ("all", "strong", "unknown")
"""The same, as results name them."""


def ladder(
    stored: Mapping[str, Any], names: Sequence[str] | None = None, *, costs: bool = True
) -> tuple[list[str], list[list[str]]]:
    """Lay out stored taggers as a table: test accuracies, mean ± deviation of the seeds, and costs.

    Args:
        stored: what `results.load("tagging")` gives.
        names: rows, in the order of the table; the lookup and all others unless given.
        costs: show how many numbers were learned and the processor seconds of one training run too.

    Returns:
        The head and the rows, for `results.show`.

    Raises:
        KeyError: there is no such row.

    >>> lookup = {"all": 89.49, "strong": 70.91, "unknown": 68.3}
    >>> ladder({"lookup": lookup}, [LOOKUP], costs=False)[1]
    [['most frequent tag', '89.5', '70.9', '68.3']]
    """
    taggers = Comparison.from_dict(stored["sweeps"]["ladder"]) if "sweeps" in stored else None
    rows = []
    for name in [LOOKUP, *taggers.rows] if names is None else names:
        if name == LOOKUP:
            found = stored["lookup"]
            cells = [f"{found[key]:.1f}" for key in KEYS]
            rows.append([name, *cells, *(["0", "< 1"] if costs else []), ""])
            continue
        row = taggers[name]
        cells = ["{:.1f} ± {:.1f}".format(*row.extra(column)) for column in ACCURACIES]
        if costs:
            cells += [f"{row.extra('parameters')[0] / 1e6:.2f}", f"{row.extra('CPU s')[0]:.0f}"]
        rows.append([name, *cells, "; ".join(row.marks())])
    head = ["test set, %", *ACCURACIES, *(["million numbers", "CPU s"] if costs else []), "marks"]
    if not any(row[-1] for row in rows):
        head, rows = head[:-1], [row[:-1] for row in rows]
    return head, rows


def joint(stored: Mapping[str, Any], names: Sequence[str] | None = None) -> tuple[list[str], list[list[str]]]:
    """Lay out the runs of the joint tagger as a table of accuracies and costs.

    Args:
        stored: what `results.load("tagging-joint")` gives.
        names: rows, in the order of the table; all unless given.

    Returns:
        The head and the rows, for `results.show`: on the dev set, then of all, strongly ambiguous and unknown
        words on the test set; mean ± deviation where there are several runs. Where taggers vote, a run is a
        group of them, and its seconds are those of all its members.

    Raises:
        KeyError: there is no such row.

    >>> run = {"dev": 95.1, "test": {"all": 95.0, "strong": 91.0, "unknown": 83.0}}
    >>> run |= {"parameters": 2e6, "CPU s": 60.0}
    >>> joint({"rows": {"small": {"seeds": [0], "runs": [run]}}})[1]
    [['small', '95.10', '95.00', '91.0', '83.0', '2.0', '60']]
    """
    rows = []
    for name in stored["rows"] if names is None else names:
        runs = stored["rows"][name]["runs"]
        cells = [with_spread(*spread_of([run["dev"] for run in runs]), 2)]
        for key, digits in zip(KEYS, (2, 1, 1), strict=True):
            cells.append(with_spread(*spread_of([run["test"][key] for run in runs]), digits))
        numbers, seconds = (spread_of([run[key] for run in runs])[0] for key in ("parameters", "CPU s"))
        rows.append([name, *cells, f"{numbers / 1e6:.1f}", f"{seconds:.0f}"])
    return ["%", "dev", "test", "ambiguous", "unknown", "million numbers", "CPU s"], rows


def curves(stored: Mapping[str, Any]) -> dict[str, dict[float, tuple[list[float], float]]]:
    """Return how the size of the joint tagger, or of its training set, changes its accuracy on the test set.

    Args:
        stored: what `results.load("tagging-joint")` gives.

    Returns:
        For each thing that was varied, value -> (accuracy of each seed in per cent, mean processor seconds).

    >>> run = {"test": {"all": 94.0}, "CPU s": 30.0}
    >>> curves({"rows": {"heads: 2": {"runs": [run]}, "all of it": {"runs": [run]}}})
    {'heads': {2.0: ([94.0], 30.0)}}
    """
    found: dict[str, dict[float, tuple[list[float], float]]] = {}
    for name, row in stored["rows"].items():
        what, varied, value = name.partition(": ")
        if varied:
            seconds = spread_of([run["CPU s"] for run in row["runs"]])[0]
            points = [run["test"]["all"] for run in row["runs"]]
            found.setdefault(what, {})[float(value)] = (points, seconds)
    return found


def changes(stored: Mapping[str, Any], against: str = "all of it") -> tuple[list[str], list[list[str]]]:
    """Lay out what it does to the joint tagger to leave out one thing.

    Args:
        stored: what `results.load("tagging-joint")` gives.
        against: the row with all of it, of several seeds.

    Returns:
        The head and the rows, for `results.show`: differences on the dev set and the test set in points, and
        beside that on the test set how many standard deviations of a single run's difference it is.

    >>> runs = [{"dev": d, "test": {"all": d}, "CPU s": 60.0} for d in (94.0, 95.0, 96.0)]
    >>> rows = {"all of it": {"runs": runs}, "without ears": {"runs": [dict(runs[0], dev=90.0)]}}
    >>> changes({"rows": rows})[1]
    [['without ears', '−5.00', '−1.00', '0.9', '60']]
    """
    whole = stored["rows"][against]["runs"]
    dev, test = spread_of([run["dev"] for run in whole]), spread_of([run["test"]["all"] for run in whole])
    rows = []
    for name, row in stored["rows"].items():
        if name.startswith(("without ", "RoPE ")):
            runs = row["runs"]
            on_dev = spread_of([run["dev"] for run in runs])[0] - dev[0]
            on_test = spread_of([run["test"]["all"] for run in runs])[0] - test[0]
            deviations = abs(on_test) / (test[1] * math.sqrt(1 / len(runs) + 1 / len(whole)))
            seconds = spread_of([run["CPU s"] for run in runs])[0]
            signed = [f"{value:+.2f}".replace("-", "−") for value in (on_dev, on_test)]
            rows.append([name, *signed, f"{deviations:.1f}", f"{seconds:.0f}"])
    return ["points", "dev", "test", "deviations", "CPU s"], rows
