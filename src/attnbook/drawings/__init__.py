"""The schematic drawings of the book: each a function that returns a figure, labelled with its alt text.

>>> from attnbook import plots
>>> plots.show(flow)  # doctest: +ELLIPSIS
<How one token asks, from top to bottom. ...>
"""

from attnbook.drawings.asking import flow, regression
from attnbook.drawings.circuits import induction
from attnbook.drawings.costs import cache, memories, paths, window_tiles
from attnbook.drawings.history import family
from attnbook.drawings.models import encoder_decoder, stack, two_stacks
from attnbook.drawings.order import waves
from attnbook.drawings.serving import kept_of_a_token, pages
from attnbook.drawings.splitting import heads, reshape

__all__ = [
    "cache",
    "encoder_decoder",
    "family",
    "flow",
    "heads",
    "induction",
    "kept_of_a_token",
    "memories",
    "pages",
    "paths",
    "regression",
    "reshape",
    "stack",
    "two_stacks",
    "waves",
    "window_tiles",
]
