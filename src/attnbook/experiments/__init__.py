"""Fair comparisons of trained models: each candidate has its own learning rates, several seeds, and marks.

>>> sorted(name for name in __all__ if name.islower())
['again', 'around', 'dates', 'decoding', 'next_word', 'retrieval', 'sweep', 'translation', 'two_places']
"""

from attnbook.experiments import dates, decoding, next_word, retrieval, translation, two_places
from attnbook.experiments.beside import Again, again
from attnbook.experiments.comparison import Comparison
from attnbook.experiments.next_word import NextWord, Text
from attnbook.experiments.retrieval import Retrieval
from attnbook.experiments.rows import Row
from attnbook.experiments.runs import Run
from attnbook.experiments.sweeps import EdgeError, around, sweep
from attnbook.experiments.translation import Translation
from attnbook.experiments.two_places import TwoPlaces

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
