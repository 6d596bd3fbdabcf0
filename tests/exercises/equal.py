"""What the machines may not hold against a checker: changes that change nothing, each with its reason.

EQUAL: by exercise, the changed statement of a mutant, as `machines.py NAME` prints it, and why it is equal.
LEADING: by exercise, the arguments that may have leading dimensions, by place, and how many are their own.
STYLES: by exercise, the rewritings that do not apply, and why.
"""

EQUAL: dict[str, dict[str, str]] = {}

LEADING: dict[str, dict[int, int]] = {
    "why-bag": {0: 2},
    "why-mixture": {0: 2, 1: 2},
}

STYLES: dict[str, dict[str, str]] = {}
