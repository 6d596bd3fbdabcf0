"""Runs first in every kernel of the tests: a tolerance in a cell must be three times what is measured.

Another processor rounds in another way. A difference that fills its tolerance here may exceed it there.
"""


def _tighten(shell, times=3, small=1e-3):
    import ast

    import torch

    close = torch.allclose

    def allclose(input, other, rtol=1e-5, atol=1e-8, equal_nan=False):
        said = close(input, other, rtol, atol, equal_nan)
        for factor in (1 / times, times):
            if close(input, other, rtol * factor, atol * factor, equal_nan) != said:
                raise AssertionError(f"the tolerance is within {times} times of the difference")
        return said

    class Stricter(ast.NodeTransformer):
        """Writes `assert x < 1e-5` as `assert x < 1e-5 / 3`: a small number on the right is a tolerance."""

        def visit_Assert(self, node):
            for one in ast.walk(node.test):
                if isinstance(one, ast.Compare) and isinstance(one.ops[-1], ast.Lt | ast.LtE):
                    last = one.comparators[-1]
                    if (
                        isinstance(last, ast.Constant)
                        and isinstance(last.value, float)
                        and last.value <= small
                    ):
                        last.value /= times
            return node

    torch.allclose = allclose
    shell.ast_transformers.append(Stricter())


if "get_ipython" in globals():  # in a kernel, not where doctests are looked for
    _tighten(get_ipython())  # noqa: F821
    del _tighten
