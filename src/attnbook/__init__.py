"""The stage of the book *I Saw a Saw*: what its chapters show, train, grade and draw.

Attention itself is the library `attnlab`, which knows nothing of this package.

Floors, each importing only from floors below it (a test reads them here):

- `plots`, `tables`, `benchmark`: plots and tables for pages; two things timed side by side
- `drawings`, `experiments`, `tour`: what a printed book would draw; small tasks, and the one fair way to
  train and compare on them; inside real models
- `tagging`, `results`, `rules`: the running task, with its corpora, taggers and training; stored results;
  the names by which a configuration is read
- `fields`, `reading`: which fields of a configuration hold what can be used, and which are not read; what
  was read, told in bytes and words
- `census`, `configuration`: how attention changed, read from the models of a published library; what a
  model's fields say of it
- `widgets`, `checks`: the figures a reader takes hold of; what judges a reader's own code
- `checkers`: what judges a reader's own tests
- `properties`: ten properties, asked of anybody's attention
- `grading`: a class's notebooks, each judged in a process of its own
- `__main__`: the command line

>>> check("why-scores", lambda weights: weights)  # doctest: +ELLIPSIS
✗ It returns the shares themselves. ...
"""

from attnbook.checkers import check_tests
from attnbook.checks import check, stub
from attnbook.properties import battery

__all__ = ["battery", "check", "check_tests", "stub"]
