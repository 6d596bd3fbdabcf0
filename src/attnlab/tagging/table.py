"""The table of taggers that the chapters show: which columns, in which form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attnlab.experiments import Comparison
from attnlab.experiments.rows import spread_of

LOOKUP = "most frequent tag"
"""The row that nothing trains."""
ACCURACIES = ("all words", "strongly ambiguous", "unknown")


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
            cells = [f"{found[key]:.1f}" for key in ("all", "strong", "unknown")]
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
    """Lay out the runs of the joint tagger as a table of test accuracies and costs.

    Args:
        stored: what `results.load("tagging-joint")` gives.
        names: rows, in the order of the table; all unless given.

    Returns:
        The head and the rows, for `results.show`: mean ± deviation where there are several seeds.

    Raises:
        KeyError: there is no such row.

    >>> run = {"test": {"all": 95.0, "strong": 91.0, "unknown": 83.0}, "parameters": 2e6, "CPU s": 60.0}
    >>> joint({"rows": {"small": {"seeds": [0], "runs": [run]}}})[1]
    [['small', '95.0', '91.0', '83.0', '1', '2.00', '60']]
    """
    rows = []
    for name in stored["rows"] if names is None else names:
        runs = stored["rows"][name]["runs"]
        cells = []
        for key in ("all", "strong", "unknown"):
            mean, spread = spread_of([run["test"][key] for run in runs])
            cells.append(f"{mean:.1f} ± {spread:.1f}" if len(runs) > 1 else f"{mean:.1f}")
        numbers, seconds = (spread_of([run[key] for run in runs])[0] for key in ("parameters", "CPU s"))
        rows.append([name, *cells, str(len(runs)), f"{numbers / 1e6:.2f}", f"{seconds:.0f}"])
    return ["test set, %", *ACCURACIES, "seeds", "million numbers", "CPU s"], rows
