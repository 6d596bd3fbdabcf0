"""The schematic drawings of the book: each a function that returns a figure, labelled with its alt text.

>>> from attnbook import plots
>>> plots.show(flow())  # doctest: +ELLIPSIS
<How one token asks, from top to bottom. ...>
"""

from attnbook.drawings.asking import flow, regression
from attnbook.drawings.costs import cache

__all__ = ["cache", "flow", "regression"]
