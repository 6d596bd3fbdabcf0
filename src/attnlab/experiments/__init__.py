"""Fair comparisons of trained models: each candidate has its own learning rates, several seeds, and marks.

>>> sorted(name for name in __all__ if name.islower())
['again', 'around', 'dates', 'decoding', 'next_word', 'retrieval', 'sweep', 'translation', 'two_places']
"""

from attnlab import book  # noqa: F401  (says what is missing)
from attnlab.experiments import dates, decoding, next_word, retrieval, translation, two_places
from attnlab.experiments.beside import Again, again
from attnlab.experiments.comparison import Comparison
from attnlab.experiments.next_word import NextWord, Text
from attnlab.experiments.retrieval import Retrieval
from attnlab.experiments.rows import Row
from attnlab.experiments.runs import Run
from attnlab.experiments.sweeps import EdgeError, around, sweep
from attnlab.experiments.translation import Translation
from attnlab.experiments.two_places import TwoPlaces

__all__ = [
    "Again",
    "Comparison",
    "EdgeError",
    "NextWord",
    "Retrieval",
    "Row",
    "Run",
    "Text",
    "Translation",
    "TwoPlaces",
    "again",
    "around",
    "dates",
    "decoding",
    "next_word",
    "retrieval",
    "sweep",
    "translation",
    "two_places",
]
