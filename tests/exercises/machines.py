"""Two machines that attack every exercise, knowing nothing of it but its data and its stored solution.

`mutants` breaks the solution in one small place at a time: each must be refused, or be listed in `equal.py`
as equal in effect, with the reason. `rewritings` says the same thing in another way: each must be accepted.

    python tests/exercises/machines.py            count both for every exercise
    python tests/exercises/machines.py sparse     for those whose names contain this word; show what survives
"""

from __future__ import annotations

import ast
import copy
import functools
import sys
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from numbers import Rational, Real
from typing import Any

import numpy as np
import torch
from torch import Tensor

SWAPS = {
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div, ast.Add),
    ast.Div: (ast.Mult,),
    ast.MatMult: (ast.Mult,),
    ast.Pow: (ast.Mult,),
    ast.FloorDiv: (ast.Div, ast.Mod),
    ast.Mod: (ast.FloorDiv,),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.And: (ast.Or,),
    ast.Or: (ast.And,),
}
TWINS = (
    ("sum", "mean"),
    ("max", "min"),
    ("amax", "amin"),
    ("clamp_min", "clamp_max"),
    ("tril", "triu"),
    ("sin", "cos"),
    ("exp", "exp2"),
    ("log", "log2"),
    ("any", "all"),
    ("square", "abs"),
    ("argmax", "argmin"),
    ("cumsum", "cumprod"),
    ("zeros", "ones"),
    ("maximum", "minimum"),
    ("repeat_interleave", "repeat"),
    ("tiny", "eps"),
)
OTHER = {a: b for a, b in TWINS} | {b: a for a, b in TWINS}


def _edits(node: ast.AST, names: list[str]) -> Iterator[ast.AST]:
    """Yield what could stand in a node's place by mistake; `names`: the parameters, which people mix up."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in names:
        for other in names:
            if other != node.id:
                yield ast.Name(other, node.ctx)
    if isinstance(node, ast.BinOp):
        for other in SWAPS.get(type(node.op), ()):
            yield ast.BinOp(node.left, other(), node.right)
        yield node.left
        yield node.right
        if not isinstance(node.op, ast.Add | ast.Mult | ast.BitAnd | ast.BitOr):
            yield ast.BinOp(node.right, node.op, node.left)
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(SWAPS[type(node.op)][0](), node.values)
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        for other in SWAPS.get(type(node.ops[0]), ()):
            yield ast.Compare(node.left, [other()], node.comparators)
    elif isinstance(node, ast.UnaryOp):
        if not (isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant)):
            yield node.operand
        elif node.operand.value in (1, 2):
            yield ast.UnaryOp(ast.USub(), ast.Constant(3 - node.operand.value))
        else:
            yield node.operand
    elif isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            yield ast.Constant(not node.value)
        elif isinstance(node.value, int):
            yield ast.Constant(node.value + 1)
            yield ast.Constant(node.value - 1)
        elif isinstance(node.value, float):
            yield ast.Constant(node.value * 1.1)
            yield ast.Constant(0.0 if node.value else 1.0)
    elif isinstance(node, ast.Attribute) and node.attr in OTHER:
        yield ast.Attribute(node.value, OTHER[node.attr], node.ctx)
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in OTHER:
        yield ast.Name(OTHER[node.id], node.ctx)
    elif isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and not (
            isinstance(node.func.value, ast.Name) and node.func.value.id in {"torch", "math", "F", "np"}
        ):
            yield node.func.value  # the call is dropped
        elif len(node.args) == 1 and not node.keywords:
            yield node.args[0]
        for i in range(len(node.keywords)):
            yield ast.Call(node.func, node.args, node.keywords[:i] + node.keywords[i + 1 :])
        if len(node.args) > 1:
            yield ast.Call(node.func, [node.args[1], node.args[0], *node.args[2:]], node.keywords)
    elif isinstance(node, ast.Slice):
        for field in ("lower", "upper", "step"):
            bound = getattr(node, field)
            if bound is not None:
                yield ast.Slice(
                    **{name: getattr(node, name) for name in ("lower", "upper", "step")} | {field: None}
                )
                yield ast.Slice(
                    **{name: getattr(node, name) for name in ("lower", "upper", "step")}
                    | {field: ast.BinOp(bound, ast.Add(), ast.Constant(1))}
                )
    elif isinstance(node, ast.IfExp):
        yield node.body
        yield node.orelse
    elif isinstance(node, ast.AugAssign):
        yield ast.Assign([node.target], node.value)
    elif isinstance(node, ast.ListComp | ast.GeneratorExp) and node.generators[0].ifs:
        one = copy.deepcopy(node)
        one.generators[0].ifs = []
        yield one


@functools.cache
def mutants(source: str) -> dict[str, str]:
    """Break a solution in one place at a time.

    Args:
        source: the cell that defines the function.

    Returns:
        The broken sources, each under the statement that changed, as it now reads.
    """
    tree = ast.parse(source)
    whole, found = ast.unparse(tree), {}
    first = next(node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef))
    methods = [first] if isinstance(first, ast.FunctionDef) else first.body
    names = list(dict.fromkeys(one.arg for method in methods for one in method.args.args))
    places = [(path, node) for path, node in _paths(tree) if not isinstance(node, ast.FormattedValue)]
    for path, node in places:
        if any(field in {"decorator_list", "annotation", "returns"} for field, _ in path):
            continue
        for edit in _edits(node, names):
            _put(tree, path, ast.fix_missing_locations(edit))
            try:
                text = ast.unparse(tree)
                ast.parse(text)
            except (SyntaxError, ValueError, TypeError, AttributeError):
                continue
            finally:
                _put(tree, path, node)  # back again: to copy the tree each time takes three times as long
            if text != whole:
                new = [line for line in text.splitlines() if line not in whole.splitlines()]
                name = " / ".join(line.strip() for line in new) or "a line moved or went"
                found.setdefault(name, text)
    return found


def _paths(tree: ast.AST) -> Iterator[tuple[tuple, ast.AST]]:
    """Walk the functions of a module; a path is the fields and indices that lead to a node."""
    stack = [((), tree)]
    while stack:
        path, node = stack.pop()
        if isinstance(node, ast.Import | ast.ImportFrom) or _is_check(node):
            continue
        if path:
            yield path, node
        for field, value in ast.iter_fields(node):
            if isinstance(value, ast.AST):
                stack.append(((*path, (field, None)), value))
            elif isinstance(value, list):
                for index, item in enumerate(value):
                    if isinstance(item, ast.AST):
                        stack.append(((*path, (field, index)), item))


def _is_check(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)


def _put(tree: ast.AST, path: tuple, node: ast.AST) -> None:
    for field, index in path[:-1]:
        tree = getattr(tree, field) if index is None else getattr(tree, field)[index]
    field, index = path[-1]
    if index is None:
        setattr(tree, field, node)
    else:
        getattr(tree, field)[index] = node


# The same thing, said in another way.


def _each(value: Any, change: Callable[[Any], Any]) -> Any:
    """Change every leaf of a result."""
    if isinstance(value, Mapping):
        return {key: _each(item, change) for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_each(item, change) for item in value))
    if isinstance(value, list | tuple):
        return type(value)(_each(item, change) for item in value)
    return change(value)


def _wrapped(
    before: Callable[[Any], Any] = lambda x: x, after: Callable[..., Any] = lambda out, args: out
) -> Callable:
    def rewriting(answer: Callable) -> Callable:
        @functools.wraps(answer)
        def other(*args: Any) -> Any:
            return after(answer(*map(before, args)), args)

        return other

    return rewriting


def _floating(x: Any) -> bool:
    return isinstance(x, Tensor) and x.is_floating_point()


def _narrow(out: Any, args: tuple) -> Any:
    dtype = next((x.dtype for x in args if _floating(x)), None)
    return _each(out, lambda x: x.to(dtype) if dtype and _floating(x) else x)


def _strided(x: Any) -> Any:
    return torch.stack((x, x), -1)[..., 0] if isinstance(x, Tensor) and x.dim() else x


def _number(kind: Callable[[Any], Any]) -> Callable[[Any, tuple], Any]:
    def change(x: Any) -> Any:
        return kind(x) if isinstance(x, Real) and not isinstance(x, bool) else x

    return lambda out, args: _each(out, change)


def _lists(out: Any, args: tuple) -> Any:
    if isinstance(out, Mapping):
        return {key: _lists(value, args) for key, value in out.items()}
    return [_lists(x, args) for x in out] if isinstance(out, list | tuple) else out


def _tuples(out: Any, args: tuple) -> Any:
    if isinstance(out, Mapping):
        return {key: _tuples(value, args) for key, value in out.items()}
    return tuple(_tuples(x, args) for x in out) if isinstance(out, list | tuple) else out


REWRITINGS: dict[str, Callable[[Callable], Callable]] = {
    "float64 inside": _wrapped(lambda x: x.double() if _floating(x) else x, _narrow),
    "arguments as strided views": _wrapped(_strided),
    "the output as a strided view": _wrapped(after=lambda out, args: _each(out, _strided)),
    "NumPy numbers": _wrapped(
        after=_number(
            lambda x: np.int64(x) if isinstance(x, int) else x if isinstance(x, Fraction) else np.float64(x)
        )
    ),
    "single NumPy numbers": _wrapped(after=_number(lambda x: np.float32(x) if isinstance(x, float) else x)),
    "tensors of one number": _wrapped(
        after=_number(
            lambda x: (
                x
                if isinstance(x, Fraction)
                else torch.tensor(x, dtype=torch.float64 if isinstance(x, float) else None)
            )
        )
    ),
    "arrays of one number": _wrapped(after=_number(lambda x: x if isinstance(x, Fraction) else np.array(x))),
    "fractions": _wrapped(
        after=_number(lambda x: Fraction(x) if isinstance(x, Rational) or np.isfinite(x) else x)
    ),
    "lists for tuples": _wrapped(after=_lists),
    "tuples for lists": _wrapped(after=_tuples),
    "NumPy truths": _wrapped(
        after=lambda out, args: _each(out, lambda x: np.bool_(x) if isinstance(x, bool) else x)
    ),
}


class _Einsum(ast.NodeTransformer):
    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, ast.MatMult):
            return ast.Call(ast.Name("einsum_product", ast.Load()), [node.left, node.right], [])
        return node


def einsum_product(a: Any, b: Any) -> Any:
    """The product `@`, by einsum where both are matrices or stacks of them, by hand where one is a vector."""
    if not (isinstance(a, Tensor) and isinstance(b, Tensor)):
        return a @ b
    if a.dim() == 1 and b.dim() == 1:
        return torch.einsum("i,i->", a, b)
    if a.dim() == 1:
        return torch.einsum("i,...ij->...j", a, b)
    if b.dim() == 1:
        return torch.einsum("...ij,j->...i", a, b)
    return torch.einsum("...ij,...jk->...ik", a, b)


def with_einsum(source: str) -> str:
    """Write every product of a solution as an einsum."""
    return ast.unparse(ast.fix_missing_locations(_Einsum().visit(ast.parse(source))))


def over_batches(answer: Callable, own: dict[int, int], road: str) -> Callable:
    """Treat a batch item by item.

    Args:
        answer: the function.
        own: for each argument that may have leading dimensions, by place, how many dimensions are its own.
        road: "a loop", or "vmap".
    """

    @functools.wraps(answer)
    def other(*args: Any) -> Any:
        batched = [i for i, dims in own.items() if i < len(args) and args[i].dim() > dims]
        if not batched:
            return answer(*args)
        if road == "vmap":
            dims = tuple(0 if i in batched else None for i in range(len(args)))
            return torch.vmap(other, dims, randomness="different")(*args)
        items = [
            other(*(x[b] if i in batched else x for i, x in enumerate(args)))
            for b in range(len(args[batched[0]]))
        ]
        return torch.stack(items)

    return other


def main(words: list[str]) -> None:
    """Count, and show what survives."""
    from equal import EQUAL, LEADING, STYLES
    from stored import SOLUTIONS, run

    from attnbook.checks import EXERCISES, running
    from attnbook.checks.engine import accepts

    running.PATIENCE = 0.5
    torch.set_num_threads(1)
    for name, task in EXERCISES.items():
        if words and not any(word in name for word in words):
            continue
        alive = []
        broken = mutants(SOLUTIONS[name])
        for what, source in broken.items():
            try:
                answer = run(source)[task.answer]
            except Exception:
                continue
            if accepts(task, answer):
                alive.append(what)
        unlisted = [what for what in alive if what not in EQUAL.get(name, {})]
        answer = run(SOLUTIONS[name])[task.answer]
        styles = {title: change(answer) for title, change in REWRITINGS.items()}
        space = run(with_einsum(SOLUTIONS[name]), einsum_product=einsum_product)
        styles["einsum"] = space[task.answer]
        for road in ("a loop", "vmap") if name in LEADING else ():
            styles[f"a batch by {road}"] = over_batches(answer, LEADING[name], road)
        refused = [t for t, a in styles.items() if not accepts(task, a) and t not in STYLES.get(name, {})]
        print(
            f"{name:<28}{len(broken):>4} mutants, {len(alive) - len(unlisted)} equal, "
            f"{len(unlisted)} survive; "
            f"{len(styles)} rewritings, {len(refused)} refused",
            flush=True,
        )
        for line in (
            *(f"    survives: {what}" for what in unlisted),
            *(f"    refused: {what}" for what in refused),
        ):
            print(line)


if __name__ == "__main__":
    main(sys.argv[1:])
