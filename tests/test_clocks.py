"""No test, no doctest and no cell of a notebook may depend on a clock: on a busy machine it would fail.

`clocks` follows what a clock said through the names of a program, statement by statement: from
`time.perf_counter()` or `benchmark.compare(...)` through assignments, loops, containers and functions to an
assert, a raise, or an output that is compared with a stored one. It follows no attribute and no mixed tuple
(`return accuracy, seconds`), so it finds what people write, not everything that could be written.
"""

from __future__ import annotations

import ast
import doctest
import re
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[1]
CLOCKS = {
    *(
        f"time.{name}{ns}"
        for name in ("time", "perf_counter", "process_time", "monotonic")
        for ns in ("", "_ns")
    ),
    *("time.thread_time", "timeit.timeit", "timeit.repeat", "timeit.default_timer", "timeit.Timer"),
    *("datetime.datetime.now", "attnbook.benchmark.compare"),
}
PLAIN = {"len", "isinstance", "type", "list", "set", "sorted"}
"""What these say of times, or of a dictionary of them, does not depend on how long anything took."""
SHOWN = {"print", "show", "display"}
BROWSER = re.compile(r"performance\.now|Date\.now|hrtime|wait_for_timeout|time\.sleep\((?!0\))")


def plain(cell: nbformat.NotebookNode) -> str:
    """The source of a cell without what only a notebook understands."""
    return re.sub(r"(?m)^( *)[!%].*", r"\1pass", cell.source)


class Reader:
    """Reads statements in order and keeps the names whose values come from a clock."""

    def __init__(self, given: dict[str, str] | None = None, *, compared: bool = False):
        self.full = dict(given or {})  # a name here -> its full name: perf_counter -> time.perf_counter
        self.timed: set[str] = set()
        self.compared = compared  # outputs are held to stored ones
        self.found: set[tuple[int, str]] = set()

    def name(self, node: ast.AST) -> str:
        """Write out a name with its dots, from the module that it was imported from."""
        if isinstance(node, ast.Attribute):
            return f"{self.name(node.value)}.{node.attr}"
        return self.full.get(node.id, node.id) if isinstance(node, ast.Name) else ""

    def is_timed(self, node: ast.AST | None) -> bool:
        """Say whether a value comes from a clock."""
        if node is None or isinstance(node, ast.Lambda):
            return False
        if isinstance(node, ast.Name):
            return node.id in self.timed
        if isinstance(node, ast.Tuple):
            return bool(node.elts) and all(map(self.is_timed, node.elts))
        if isinstance(node, ast.Call):
            name = self.name(node.func)
            if name in PLAIN:
                return False
            if name in CLOCKS:
                # A clock of one's own says what the test wants to hear.
                own = [keyword.value for keyword in node.keywords if keyword.arg == "clock"]
                return not own or self.name(own[0]) in CLOCKS
        if isinstance(node, (ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.DictComp)):
            inner = self.copy()
            for part in node.generators:
                inner.turn(part.target, part.iter)
            heads = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
            return any(map(inner.is_timed, heads))
        return any(map(self.is_timed, ast.iter_child_nodes(node)))

    def copy(self) -> Reader:
        """Make a reader that knows the same and whose names are its own."""
        other = Reader(self.full, compared=self.compared)
        other.timed, other.found = set(self.timed), self.found
        return other

    def assign(self, target: ast.AST, timed: bool) -> None:
        """Note what a name, or the names of a tuple, now hold; a part of a container colours the whole."""
        if isinstance(target, ast.Name):
            (self.timed.add if timed else self.timed.discard)(target.id)
            self.full.pop(target.id, None)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for part in target.elts:
                self.assign(part, timed)
        elif isinstance(target, (ast.Subscript, ast.Attribute, ast.Starred)):
            inner = target.value
            if timed or isinstance(target, ast.Starred):
                self.assign(inner, timed)

    def turn(self, target: ast.AST, over: ast.expr) -> None:
        """Note what a loop's names hold; the keys of a dictionary of times are no times."""
        timed = self.is_timed(over)
        if (
            isinstance(over, ast.Call)
            and self.name(over.func).endswith(".items")
            and isinstance(target, ast.Tuple)
        ):
            self.assign(target.elts[0], False)
            target = target.elts[-1]
        self.assign(target, timed)

    def read(self, statements: list[ast.stmt]) -> Reader:
        """Go through statements in order."""
        for statement in statements:
            self.statement(statement)
        return self

    def note(self, node: ast.stmt, what: str) -> None:
        """Keep a place where a clock decides."""
        self.found.add((node.lineno, what))

    def statement(self, node: ast.stmt) -> None:
        """Follow one statement."""
        if isinstance(node, ast.Import):
            for alias in node.names:
                self.full[alias.asname or alias.name.split(".")[0]] = (
                    alias.name if alias.asname else alias.name.split(".")[0]
                )
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                self.full[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            self.full.pop(node.name, None)
            inner = self.copy()
            for argument in ast.walk(node.args):
                if isinstance(argument, ast.arg):
                    inner.assign(ast.Name(argument.arg), False)
            inner.read(node.body)
            returned = [n.value for n in ast.walk(node) if isinstance(n, (ast.Return, ast.Yield))]
            self.assign(ast.Name(node.name), any(map(inner.is_timed, returned)))
        elif isinstance(node, ast.ClassDef):
            self.copy().read(node.body)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                self.unpack(target, node.value)
        elif isinstance(node, ast.AugAssign):
            if self.is_timed(node.value):
                self.assign(node.target, True)
        elif isinstance(node, ast.Assert):
            if self.is_timed(node.test):
                self.note(node, "asserts on a time")
        elif isinstance(node, ast.Expr):
            self.expression(node)
        elif isinstance(node, (ast.For, ast.While, ast.If, ast.With, ast.Try)):
            self.block(node)

    def unpack(self, target: ast.AST, value: ast.AST | None) -> None:
        """Follow an assignment, part by part where both sides have parts."""
        if (
            isinstance(target, ast.Tuple)
            and isinstance(value, ast.Tuple)
            and len(target.elts) == len(value.elts)
        ):
            for one, other in zip(target.elts, value.elts, strict=True):
                self.unpack(one, other)
            return
        full = self.name(value) if isinstance(value, (ast.Name, ast.Attribute)) else ""
        self.assign(target, self.is_timed(value))
        if full in CLOCKS and isinstance(target, ast.Name):
            self.full[target.id] = full

    def block(self, node: ast.stmt) -> None:
        """Follow what is repeated, chosen or guarded."""
        if isinstance(node, ast.For):
            self.turn(node.target, node.iter)
        if isinstance(node, ast.With):
            for item in node.items:
                if item.optional_vars:
                    self.assign(item.optional_vars, self.is_timed(item.context_expr))
        ends = (ast.Raise, ast.Assert)
        if isinstance(node, ast.If) and self.is_timed(node.test):
            calls = (n for part in node.body for n in ast.walk(part))
            if any(
                isinstance(n, ends) or self.name(getattr(n, "func", n)) in ("pytest.fail", "sys.exit")
                for n in calls
            ):
                self.note(node, "fails on a time")
        # Twice: a loop's second turn sees what the first one left.
        for _ in range(2 if isinstance(node, (ast.For, ast.While)) else 1):
            for part in ("body", "orelse", "handlers", "finalbody"):
                for inner in getattr(node, part, []):
                    self.read(inner.body if isinstance(inner, ast.ExceptHandler) else [inner])

    def expression(self, node: ast.Expr) -> None:
        """Follow a call whose value is dropped, or an output."""
        call = node.value
        if isinstance(call, ast.Call):
            timed = any(map(self.is_timed, (*call.args, *(keyword.value for keyword in call.keywords))))
            last = self.name(call.func).rpartition(".")[2]
            if timed and last.startswith("assert"):
                self.note(node, "asserts on a time")
            elif timed and self.compared and last in SHOWN:
                self.note(node, "shows a time where outputs are compared")
            elif (
                timed
                and isinstance(call.func, ast.Attribute)
                and last in ("append", "add", "extend", "update")
            ):
                self.assign(call.func.value, True)
        if self.compared and self.is_timed(call):
            self.note(node, "shows a time where outputs are compared")


def clocks(source: str) -> list[str]:
    """List the lines of a program on which a clock decides whether it fails."""
    return [f"line {line} {what}" for line, what in sorted(Reader().read(ast.parse(source).body).found)]


def clocks_of_doctests(path: Path) -> list[str]:
    """The same for the examples in a module's docstrings, whose outputs are compared."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    parts = path.relative_to(ROOT / "src").with_suffix("").parts
    module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    own = {node.name: f"{module}.{node.name}" for node in tree.body if isinstance(node, ast.FunctionDef)}
    found = []
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef)):
            examples = doctest.DocTestParser().get_examples(ast.get_docstring(node) or "")
            reader = Reader(own, compared=True)
            for example in examples:
                reader.read(ast.parse(example.source).body)
            found += [f"{getattr(node, 'name', 'module')} {what}" for _, what in reader.found]
    return found


def clocks_of_notebook(path: Path) -> list[str]:
    """The same for the cells of a notebook, one after the other; outputs count where nbval compares them."""
    reader, found = Reader(), []
    for number, cell in enumerate(nbformat.read(path, as_version=4).cells):
        if cell.cell_type == "code":
            reader.compared = "nbval-ignore-output" not in cell.metadata.get("tags", [])
            reader.found.clear()
            reader.read(ast.parse(plain(cell)).body)
            found += [f"cell {number}, line {line} {what}" for line, what in sorted(reader.found)]
    return found


def own_tests() -> list[Path]:
    return sorted(path for path in (ROOT / "tests").rglob("*.py") if path != Path(__file__).resolve())


def test_no_test_fails_because_of_a_clock():
    found = {str(path.relative_to(ROOT)): clocks(path.read_text(encoding="utf-8")) for path in own_tests()}
    assert {path: lines for path, lines in found.items() if lines} == {}


def test_no_example_of_the_package_depends_on_a_clock():
    found = {path.name: clocks_of_doctests(path) for path in sorted((ROOT / "src").rglob("*.py"))}
    assert {path: lines for path, lines in found.items() if lines} == {}


@pytest.mark.parametrize("path", sorted((ROOT / "chapters").glob("*.ipynb")), ids=lambda path: path.stem)
def test_no_cell_of_a_notebook_depends_on_a_clock(path):
    assert clocks_of_notebook(path) == []


def test_no_test_reads_a_browsers_clock_or_waits_for_a_fixed_time():
    sources = [*own_tests(), *(ROOT / "tests").rglob("*.mjs")]
    assert {path.name: found for path in sources if (found := BROWSER.findall(path.read_text("utf-8")))} == {}


BAD = {
    "a clock read twice": """
        import time
        start = time.perf_counter()
        work()
        assert time.perf_counter() - start < 2""",
    "a clock under another name": """
        from time import process_time as now
        before = now()
        spent = now() - before
        assert spent < 1, "too slow" """,
    "a clock handed on": """
        import time
        tick = time.monotonic
        start = tick()
        if tick() - start > 5:
            raise AssertionError("too slow")""",
    "a function that measures": """
        import time
        def spent(work):
            start = time.time()
            work()
            return time.time() - start
        def test_it():
            assert spent(int) < spent(float)""",
    "a comparison": """
        from attnbook import benchmark
        result = benchmark.compare({"a": int, "b": float})
        ratio = result.ratio("a", "b")
        print(ratio)
        assert ratio > 1.5""",
    "times in a dictionary": """
        import timeit
        from functools import partial
        seconds = {}
        for name, way in ways.items():
            seconds[name] = min(timeit.repeat(partial(way, 1), number=1, repeat=4))
        assert seconds["slow"] > 10 * seconds["fast"]""",
    "times in a list": """
        import time
        spent = []
        for way in ways:
            start = time.perf_counter()
            way()
            spent.append(time.perf_counter() - start)
        assert all(one < 2 for one in spent)""",
    "approximately": """
        import time, torch
        got = torch.tensor(time.time())
        torch.testing.assert_close(got, want)""",
    "the processor's clock": """
        import time
        from attnbook.benchmark import compare
        ratio = {}
        for n in (1, 2):
            times = compare(ways, clock=time.process_time)
            ratio[n] = times.ratio("a", "b")
        assert ratio[2] > ratio[1]""",
}
GOOD = {
    "a clock of one's own": """
        from attnbook import benchmark
        result = benchmark.compare({"a": int}, clock=lambda: next(readings))
        assert result.seconds == {"a": [2.0]}""",
    "a time that is shown": """
        import time
        start = time.perf_counter()
        print(f"{time.perf_counter() - start:.1f} s")""",
    "counted work beside a time": """
        from attnbook import benchmark
        times = benchmark.compare(ways)
        print(times.ratio("a", "b"))
        work = {name: benchmark.multiplications(way) for name, way in ways.items()}
        assert work["a"] == 2 * work["b"]""",
    "a name used again": """
        import time
        ratio = time.time()
        print(ratio)
        ratio = 3
        assert ratio == 3""",
    "a function that is called compare": """
        def compare(a, b):
            return a == b
        assert compare(1, 1)""",
    "how many readings": """
        from attnbook import benchmark
        result = benchmark.compare({"a": int}, repeats=4)
        assert {name: len(values) for name, values in result.seconds.items()} == {"a": 4}""",
}


def dedent(source: str) -> str:
    return "\n".join(line[8:] for line in source.splitlines())


@pytest.mark.parametrize("source", BAD.values(), ids=BAD)
def test_the_reader_finds(source):
    assert len(clocks(dedent(source))) == 1


@pytest.mark.parametrize("source", GOOD.values(), ids=GOOD)
def test_the_reader_lets_pass(source):
    assert clocks(dedent(source)) == []


def test_the_reader_knows_which_outputs_are_compared(tmp_path):
    source = "import time\nstart = time.time()\nprint(time.time() - start)"
    cells = [nbformat.v4.new_code_cell(source), nbformat.v4.new_code_cell("start")]
    path = tmp_path / "timed.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    what = "shows a time where outputs are compared"
    assert clocks_of_notebook(path) == [f"cell 0, line 3 {what}", f"cell 1, line 1 {what}"]
    for cell in cells:
        cell.metadata["tags"] = ["nbval-ignore-output"]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    assert clocks_of_notebook(path) == []


def test_no_bar_shows_in_an_output_that_is_compared():
    """A bar comes after two seconds: on a busy machine, in an output that was stored without one."""
    for path in sorted((ROOT / "chapters").glob("*.ipynb")):
        for cell in nbformat.read(path, as_version=4).cells:
            if cell.cell_type != "code" or "nbval-ignore-output" in cell.metadata.get("tags", ()):
                continue
            for call in (node for node in ast.walk(ast.parse(plain(cell))) if isinstance(node, ast.Call)):
                name = ast.unparse(call.func).removeprefix("experiments.")
                if name in ("again", "sweep"):
                    said = {word.arg: ast.unparse(word.value) for word in call.keywords}
                    assert said.get("progress") == "False", f"{path.name}: {ast.unparse(call)}"
