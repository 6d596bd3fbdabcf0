"""The reader's cells: whether the one that was meant ran at all, and a stub for a new start."""

from __future__ import annotations

import ast
import inspect
import re
from typing import Any

from IPython import get_ipython

from attnbook.checks.exercise import EXERCISES, OTHERS, known


def uncompiled(answer: Any, *names: str) -> str:
    """Say so if the cell that defines a function was last run with a syntax error: what is judged is older.

    Args:
        answer: the reader's function.
        names: other names that it may have been given.

    Returns:
        A sentence, or an empty text.
    """
    notebook = get_ipython()
    cells = notebook.user_ns.get("In", []) if notebook is not None else []
    name = "|".join(re.escape(one) for one in {getattr(answer, "__name__", ""), *names} if one)
    begins = re.compile(rf"^[ \t]*(?:async\s+)?(?:def|class)\s+({name})\b", re.MULTILINE)
    for cell in reversed(cells):
        found = begins.search(cell)
        if found:
            try:
                compile(cell, "<cell>", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
            except SyntaxError as error:
                return (
                    f"Your last cell with {found[1]} did not compile ({error.msg}, line {error.lineno}), so this is "
                    "about the one defined before."
                )
            return ""
    return ""


def stub(name: str) -> None:
    """Print an exercise's cell as it was in the beginning, and put it in the place of this one.

    Not every front end lets a cell be replaced; what is printed can be copied anywhere.

    Args:
        name: the exercise's name.

    Raises:
        ValueError: there is no exercise of that name.

    >>> stub("positions-rope")
    def rotary_attention(q, k, v, base=10000.0):
        ...  # your code here
    """
    source = written(name if name in OTHERS else known(name).name)
    notebook = get_ipython()
    if notebook is not None:
        notebook.set_next_input(source, replace=True)
    print(source)


def written(name: str) -> str:
    """Write an exercise's stub.

    Args:
        name: the exercise's name.

    Returns:
        The source of a function that does nothing yet.
    """
    task = OTHERS[name] if name in OTHERS else EXERCISES[name]
    if task.stub:
        return task.stub
    asked = max(len(one.values) for one in task.cases)  # a reference may have further parameters
    parameters = [
        one.replace(annotation=inspect.Parameter.empty)
        for one in list(inspect.signature(task.reference).parameters.values())[:asked]
    ]
    return f"def {task.answer}{inspect.Signature(parameters)}:\n    ...  # your code here"
