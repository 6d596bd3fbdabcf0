"""Weighs a chapter: the minutes that it asks of a slow reader before the exercises.

>>> Weight(words=900, lines=70, tables=2, figures=1).minutes
26.0
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

NO_TEXT = r"<details.*?</details>|\$\$.*?\$\$|\$[^$]*\$|```.*?```|<[^>]+>|\{[a-z:]+\}"
SOURCE_HIDDEN = {"hide-input", "hide-cell", "remove-cell", "remove-input"}
OUTPUT_HIDDEN = {"remove-cell", "remove-output", "hide-output", "hide-cell"}


class Weight(NamedTuple):
    """What stands in view."""

    words: int = 0
    lines: int = 0
    tables: int = 0
    plots: int = 0
    equations: int = 0
    figures: int = 0

    @property
    def minutes(self) -> float:
        """Minutes of a slow reader; the factors were fitted to fifteen chapters read with a clock."""
        seen = self.tables * 1.5 + self.plots / 2 + self.equations / 2 + self.figures * 4
        return self.words / 100 + self.lines / 7 + seen


def weigh(notebook: dict[str, Any]) -> Weight:
    """Count what a reader meets before the section of exercises."""
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            if re.search(r"(?m)^## Exercises", source):
                break
            # A box that unfolds counts: slow readers open it.
            text = re.sub(NO_TEXT, " ", source, flags=re.DOTALL)
            parts.append(
                Weight(
                    words=len(re.findall(r"[A-Za-z][A-Za-z'-]*", text)),
                    tables=len(re.findall(r"(?m)^\|[ :-]+\|", source)),
                    equations=len(re.findall(r"(?m)^\$\$", source)) // 2,
                )
            )
            continue
        tags = set(cell["metadata"].get("tags", []))
        lines = 0 if tags & SOURCE_HIDDEN else sum(bool(line.strip()) for line in source.split("\n"))
        data = [of for output in cell["outputs"] for of in output.get("data", {}).values()]
        seen = [] if tags & OUTPUT_HIDDEN else [of for of in data if isinstance(of, str | list)]
        shown = "".join("".join(of) for of in seen)
        figures = shown.count('data-attnlab="')  # the table inside a figure is its text alternative
        table = "<table" in shown and not figures
        parts.append(Weight(lines=lines, tables=table, plots="<svg" in shown, figures=figures))
    return Weight(*(sum(of) for of in zip(*parts, strict=True)))
