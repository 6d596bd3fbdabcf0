"""Judge the exercises of a notebook, in a process of its own.

Only what a verdict needs runs: the cells of exercises, and above them set-up, imports and what binds a name
that an answer uses. An answer is judged where its `check` stands, by the engine that readers have.
"""

from __future__ import annotations

import ast
import contextlib
import linecache
import re
import symtable
import sys
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, field
from types import CodeType, FunctionType, ModuleType
from typing import Any

from IPython.core.inputtransformer2 import TransformerManager

from attnbook import checkers
from attnbook.checkers.handing import BANNED, unpatched
from attnbook.checks.deadline import Endless, within
from attnbook.checks.engine import judge
from attnbook.checks.exercise import EXERCISES, OTHERS
from attnbook.grading.isolation import Limits, enter, leave, run_apart

CHECK = re.compile(r"\bcheck(?:_tests)?\(\s*[\"']([\w-]+)[\"']")
DEFINES = re.compile(r"^(?:def|class)\s+(\w+)", re.MULTILINE)
PATIENCE = 30.0
"""Seconds of computing for one cell."""
NAMES = (BANNED - {"battery", "checkers", "dis", "inspect"}) | {
    "EXERCISES",
    "OTHERS",
    "CHECKERS",
    "subprocess",
}
"""What no answer needs, and who cheats does."""


@dataclass(frozen=True)
class Cell:
    """A cell of code, and whether it belongs to an exercise."""

    source: str
    asked: bool = True


@dataclass
class Judgement:
    """What came of a notebook.

    Attributes:
        verdicts: status and message by exercise.
        trouble: why there are no more, if there should be.
    """

    verdicts: dict[str, tuple[str, str]] = field(default_factory=dict)
    trouble: str = ""


def named(cells: Sequence[Cell]) -> str:
    """Say what the cells of exercises name that no answer needs: whoever marks should read that code.

    >>> named([Cell("import torch, gc"), Cell("answer = EXERCISES['why-scores'].reference")])
    'EXERCISES, gc'
    """
    found: set[str] = set()
    for cell in cells:
        words = set(re.findall(r"\w+", cell.source)) if cell.asked else set()
        found |= words & NAMES
    return ", ".join(sorted(found))


def judge_apart(cells: Sequence[Cell], limits: Limits | None = None) -> Judgement:
    """Run a notebook's cells in a new process and judge what they hand to `check` and `check_tests`.

    Magics and shell commands are passed over. Of several verdicts on one exercise the last counts.

    Args:
        cells: all cells of code, in their order.
        limits: what they may take.

    Returns:
        The verdicts. Whatever the cells do ends in one, never in an exception.

    Raises:
        OSError: no process can be started.

    >>> cell = Cell('from attnbook import check\\ncheck("why-scores", lambda shares: shares.log())')
    >>> found = judge_apart([cell])
    >>> found.verdicts["why-scores"][0], found.trouble
    ('right', '')
    """
    reports, trouble = run_apart(__name__, list(map(astuple, cells)), limits)
    return Judgement({name: (status, message) for name, status, message in reports}, trouble)


def serve(job: dict[str, Any]) -> None:
    """Be the process of a notebook. Only `run_apart` calls this.

    Args:
        job: as `run_apart` made it.

    Raises:
        KeyError: the job is another.
    """
    tell = enter(job)
    for name, status, message in _verdicts([Cell(*one) for one in job["work"]]):
        tell((name, status, message[:4000]))
    leave(tell)


class _Magic:
    """What stands for IPython's shell: it takes every magic and every shell command, and does nothing."""

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: None


def _verdicts(cells: list[Cell]) -> Iterator[tuple[str, str, str]]:
    """Run the cells that are needed, and judge each answer at the place where it is checked."""
    handed: list[tuple[Any, Any]] = []

    def take(name: Any = None, answer: Any = None) -> None:
        handed.append((name, answer))

    for room in ("attnbook", "attnbook.checks", "attnbook.checks.progress", "attnbook.checkers"):
        for word in {"check", "check_tests"} & vars(sys.modules[room]).keys():
            setattr(sys.modules[room], word, take)
    main = sys.modules["__main__"] = ModuleType("__main__")
    space = vars(main)
    space["get_ipython"] = _Magic
    tasks, sources = EXERCISES | OTHERS, [_plain(cell.source) for cell in cells]
    before, changed = _ours(), list[str]()
    failed: dict[str, str] = {}  # by name, why what should define it did not
    told: set[str] = set()
    for at in needed(sources, [cell.asked for cell in cells]):
        handed.clear()
        old = {name: space.get(name) for name in DEFINES.findall(sources[at])}
        with unpatched(changed):
            raised = _run(sources[at], at + 1, space)
        for name, value in old.items():
            failed.pop(name, None)
            if raised and space.get(name) is value:
                failed[name] = raised
        for name, answer in [one for one in handed if isinstance(one[0], str) and one[0] in tasks]:
            told.add(name)
            if tasks[name].answer in failed:
                yield name, "wrong", failed[tasks[name].answer]
                continue
            with unpatched(changed):
                status, message = _examined(name, answer)
            changed += [] if changed else _differ(before, _ours())
            if changed:
                status = "not judged"
                message = f"The notebook changes {changed[0]}, which is not its own: no verdict from here on."
            yield name, status, message
        for name in CHECK.findall(sources[at]):
            if name in tasks and name not in told:
                told.add(name)
                why = failed.get(tasks[name].answer) or raised or "Another check has taken its place."
                yield name, "wrong", f"Its check did not come to run. {why}"


def _examined(name: str, answer: Any) -> tuple[str, str]:
    """Judge one answer."""
    try:
        if str(getattr(answer, "__module__", "")).partition(".")[0] in ("attnlab", "attnbook"):
            return "wrong", "What is handed in is the book's own code, and no answer."
        found = checkers.judge(name, answer) if name in OTHERS else judge(name, answer)
        return found.status, found.message
    except BaseException as error:
        return "not judged", f"The judge met {type(error).__name__}."


def _run(source: str, number: int, space: dict[str, Any]) -> str:
    """Run a cell, and say in a sentence what ended it, if anything did."""
    file = f"<code cell {number}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    try:
        code = compile(source, file, "exec", dont_inherit=True)
        within(PATIENCE, lambda: exec(code, space))
    except Endless:
        return f"Code cell {number} did not stop: it was interrupted after {PATIENCE:g} seconds of computing."
    except BaseException as error:  # a cell may even exit
        said = ""
        with contextlib.suppress(BaseException):
            said = f": {str(error).strip().splitlines()[0]}"
        return f"Code cell {number} raised {type(error).__name__}{said}."
    return ""


def _plain(source: str) -> str:
    """Write magics as the calls that they are."""
    try:
        return TransformerManager().transform_cell(source)
    except Exception:
        return source


def needed(sources: Sequence[str], asked: Sequence[bool]) -> list[int]:
    """Choose the cells that run: of exercises, the first two, and what binds a name that one of these uses.

    Args:
        sources: the cells of code.
        asked: which of them belong to an exercise. What lies between two of these belongs to one, too.

    >>> sources = ["", "import math", "e = 1", "pi = math.pi", "def area(r): return pi * r", "area(2)", "e"]
    >>> needed(sources, [False, False, False, False, False, True, False])
    [0, 1, 3, 4, 5]
    """
    places = [at for at, one in enumerate(asked) if one]
    chosen, wanted = [], set[str]()
    for at in reversed(range(places[-1] + 1 if places else 0)):
        binds, uses = _names(sources[at])
        if at < 2 or at >= places[0] or binds & wanted:
            chosen.append(at)
            wanted = (wanted - binds) | uses
    return chosen[::-1]


def _names(source: str) -> tuple[set[str], set[str]]:
    """List the names that a cell binds, and those that it uses and must find bound."""
    bound, used = set[str](), set[str]()
    try:
        for line in ast.parse(source).body:
            first = symtable.symtable(ast.unparse(line), "<cell>", "exec")
            binds, uses, tables = set(), set(), [first]
            while tables:
                table = tables.pop()
                tables += table.get_children()
                for one in table.get_symbols():
                    if table is first or one.is_global():
                        binds |= {one.get_name()} if one.is_assigned() or one.is_imported() else set()
                        uses |= {one.get_name()} if one.is_referenced() else set()
            again = isinstance(line, (ast.Assign, ast.AugAssign, ast.AnnAssign))  # x = x + 1 needs an x
            used |= uses - bound - (set() if again else binds)
            bound |= binds
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set(), set()
    return bound, used


def _ours() -> dict[str, tuple[Any, ...]]:
    """Note what the book's functions, classes and exercises are, to see later whether they still are."""
    found: dict[str, tuple[Any, ...]] = {}
    for room in [name for name in sys.modules if name.partition(".")[0] in ("attnbook", "attnlab")]:
        for name, value in list(vars(sys.modules[room]).items()):
            if isinstance(value, FunctionType):
                found[f"{room}.{name}"] = (value, value.__code__, value.__defaults__)
            elif isinstance(value, type):
                parts = {key: getattr(one, "__code__", one) for key, one in vars(value).items()}
                found[f"{room}.{name}"] = (value, *_fixed(parts))
    for name, task in (EXERCISES | OTHERS).items():
        found[name] = (task, *_fixed(vars(task)))
    return found


def _fixed(parts: dict[str, Any]) -> list[tuple[str, Any]]:
    """What of a class or an exercise never changes by itself."""
    kinds = (CodeType, FunctionType, str, tuple)
    return sorted((name, id(value)) for name, value in parts.items() if isinstance(value, kinds))


def _differ(before: dict[str, tuple[Any, ...]], now: dict[str, tuple[Any, ...]]) -> list[str]:
    def same(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
        return len(one) == len(other) and all(
            a is b or a == b for a, b in zip(one[1:], other[1:], strict=True)
        )

    return [
        name
        for name, was in before.items()
        if now.get(name, (None,))[0] is not was[0] or not same(was, now[name])
    ]
