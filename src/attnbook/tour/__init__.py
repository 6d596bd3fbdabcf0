"""A tour of real models: what single heads do, and what happens without them.

>>> at_distance.__module__
'attnbook.tour.heads'
"""

from attnbook.tour.heads import (
    FITS_BOTH,
    FITS_ONE,
    IT,
    Question,
    after_last_time,
    at_distance,
    names,
    weights_of,
)

__all__ = [
    "FITS_BOTH",
    "FITS_ONE",
    "IT",
    "Question",
    "after_last_time",
    "at_distance",
    "names",
    "weights_of",
]
