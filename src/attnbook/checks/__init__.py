"""Grade a reader's own code: honestly, and with a message that names the mistake.

A chapter calls `check("why-scores", scores_for)` after its exercise. An exercise is data (a reference, cases, mistakes
and promises, in the modules named by topic); `engine` judges them all in one way. The tests attack each of them
with wrong answers, with mutants of its solution, and with right answers in other styles.

>>> check("why-scores", lambda weights: weights)  # doctest: +ELLIPSIS
✗ It returns the shares themselves. Their softmax is flatter than they are: undo the exponential. With ...
"""

from attnbook.checks import (  # noqa: F401  (they register their exercises)
    costs,
    costs_online,
    decoding,
    devices,
    devices_costs,
    devices_ring,
    heads,
    heads_latent,
    heads_layer,
    inside,
    linear,
    linear_state,
    masking,
    masking_leaks,
    playground,
    positions,
    positions_order,
    queries,
    queries_layer,
    recurrent,
    relevance,
    saturation,
    saturation_precision,
    scaling,
    scaling_parts,
    sights,
    sparse,
    sparse_blocks,
    sparse_window,
    todays,
    todays_bytes,
    todays_memory,
    transformer,
    why,
)
from attnbook.checks.cells import stub
from attnbook.checks.engine import judge
from attnbook.checks.exercise import EXERCISES
from attnbook.checks.progress import Report, check, report
from attnbook.checks.verdict import Verdict

__all__ = ["EXERCISES", "Report", "Verdict", "check", "judge", "report", "stub"]
