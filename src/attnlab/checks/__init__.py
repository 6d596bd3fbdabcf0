"""Grade a reader's own code: honestly, and with a message that names the mistake.

A chapter calls `check("why-mixture", mix)` after its exercise. The checkers themselves are tested with wrong
answers (`tests/exercises`): each must be refused with the message that fits it.

>>> from fractions import Fraction
>>> check("why-ceiling", lambda counts: None)
○ ceiling is not written yet: it returned None.
>>> check("why-ceiling", lambda counts: Fraction(1))
✗ With 3 VERB and 1 NOUN for saw, 4 DET for a, the best accuracy is 7/8; ceiling returned 1.
"""

from attnlab.checks import (  # noqa: F401  (they register their exercises)
    costs,
    heads,
    linear,
    masking,
    positions,
    queries,
    relevance,
    saturation,
    scaling,
    sparse,
    why,
)
from attnlab.checks.verdict import EXERCISES, Verdict, check, judge

__all__ = ["EXERCISES", "Verdict", "check", "judge"]
