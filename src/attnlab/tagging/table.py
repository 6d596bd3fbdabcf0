"""The table of taggers that the chapters show: which columns, in which form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attnlab.experiments import Comparison

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
