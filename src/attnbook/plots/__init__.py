"""What the chapters show: plots as inline SVG that take the page's colours, each with its text alternative.

>>> import torch
>>> figure, axes = new()
>>> heatmap(torch.tensor([[0.9, 0.1]]), ["saw"], ["I", "saw"], axes)
>>> show(figure, alt="saw looks at I")
<saw looks at I>
"""

from attnbook.plots.charts import dots, heatmap, histogram, lines, name
from attnbook.plots.page import ACCENT, INK, QUIET, ROLES, STEPS, new, show, svg
from attnbook.plots.tokens import arcs, mask, show_mask

__all__ = [
    "ACCENT",
    "INK",
    "QUIET",
    "ROLES",
    "STEPS",
    "arcs",
    "dots",
    "heatmap",
    "histogram",
    "lines",
    "mask",
    "name",
    "new",
    "show",
    "show_mask",
    "svg",
]
