"""Grade a class: each notebook judged in a process of its own, and a table of the verdicts.

`python -m attnbook grade FOLDER --out GRADES` reads `FOLDER/STUDENT/*.ipynb`, or `FOLDER/STUDENT.ipynb`. From
the ground up: `isolation` runs code apart and says what that protects and what not, `cells` judges one
notebook, `classroom` reads the folder and writes `grades.csv` and `grades.html`.

>>> needed(["", "import math", "e = 1", "pi = math.pi", "print(pi)"], [False] * 4 + [True])
[0, 1, 3, 4]
"""

from attnbook.grading.cells import Cell, Judgement, judge_apart, needed
from attnbook.grading.classroom import Row, grade
from attnbook.grading.isolation import Limits

__all__ = ["Cell", "Judgement", "Limits", "Row", "grade", "judge_apart", "needed"]
