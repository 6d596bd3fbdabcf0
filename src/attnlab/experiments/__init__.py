"""Fair comparisons of trained models: each candidate has its own learning rates, several seeds, and marks.

>>> sorted(name for name in __all__ if name.islower())
['again', 'around', 'sweep']
"""

from attnlab.experiments.again import Again, again
from attnlab.experiments.comparison import Comparison, Row
from attnlab.experiments.runs import Run
from attnlab.experiments.sweeps import EdgeError, around, sweep

__all__ = ["Again", "Comparison", "EdgeError", "Row", "Run", "again", "around", "sweep"]
