"""Makes nbgrader's form of a students' notebook: answers to fill in, and checks that give points.

`check` shows a verdict and never fails, and nbgrader takes points away only for a cell that fails. So behind
each check stands a line that does; nbgrader takes it out of what students get, and puts it back to grade.
"""

from __future__ import annotations

import copy

from nbformat import NotebookNode

from attnbook.checks.exercise import EXERCISES

SETTINGS = '''"""What nbgrader has to know: no notebook holds a solution, and some cells take a while."""

c = get_config()
c.CourseDirectory.course_id = "attention"
c.ClearSolutions.enabled = False
c.Execute.timeout = 300
'''


def graded(notebook: NotebookNode, points: list[int]) -> NotebookNode:
    """Return a copy of a notebook with nbgrader's metadata.

    Args:
        notebook: a students' notebook, without solutions.
        points: of its exercises, in their order.

    Raises:
        ValueError: there are not as many points as checks.
    """
    made = copy.deepcopy(notebook)
    if len(points) != sum(cell.metadata.get("role") == "check" for cell in made.cells):
        raise ValueError("there are not as many points as checks")
    left = iter(points)
    for cell in made.cells:
        role = cell.metadata.get("role")
        if role not in ("stub", "check"):
            continue
        name, checks = cell.metadata["exercise"], role == "check"
        cell.metadata["nbgrader"] = {
            "schema_version": 3,
            "cell_type": "code",
            "grade_id": f"{name}-check" if checks else name,
            "grade": checks,
            "locked": checks,
            "solution": not checks,
            "task": False,
        }
        if checks:
            cell.metadata["nbgrader"]["points"] = next(left)
            cell.source += hidden(name, cell.source)
    return made


def hidden(name: str, source: str) -> str:
    """Write what fails behind a check if the answer is not right."""
    module = "checks" if name in EXERCISES else "checkers"
    answer = source.rpartition(", ")[2].removesuffix(")")
    return (
        f"\n### BEGIN HIDDEN TESTS\nimport attnbook.{module}\n"
        f'assert attnbook.{module}.judge("{name}", {answer}).status == "right"\n### END HIDDEN TESTS'
    )
