"""What the machines may not hold against a checker: changes that change nothing, each with its reason.

EQUAL: by exercise, the changed statement of a mutant, as `machines.py NAME` prints it, and why it is equal.
LEADING: by exercise, the arguments that may have leading dimensions, by place, and how many are their own.
STYLES: by exercise, the rewritings that do not apply, and why.
"""

EQUAL: dict[str, dict[str, str]] = {
    "queries-columns": {
        "return v @ (k.T @ q / q.shape[0] ** 0.5).softmax(0)": "queries and keys have one width",
    },
    "queries-self-attention": {
        "scores = q @ k.transpose(-1, -2) / k.shape[-1] ** 0.5": "the same two axes change places",
    },
    "relevance-kernel": {
        "exponents = -(xs - at[:, None]).square() / (2 * width ** 2)": "a square does not know the sign",
    },
    "relevance-lookup": {
        "return (keys @ query).softmax(-1) @ values": "the scores of one query have one axis",
    },
}

LEADING: dict[str, dict[int, int]] = {
    "queries-self-attention": {0: 2},
    "why-bag": {0: 2},
    "why-mixture": {0: 2, 1: 2},
}

STYLES: dict[str, dict[str, str]] = {}
