"""The mask painted by hand: two documents of three tokens, a prefix of two in the first."""

import math

import torch

from answers import right, wrong
from attnlab import masks

PREFIX, DOCUMENTS, CAUSAL = masks.prefix(6, 2), masks.packed([0, 0, 0, 1, 1, 1]), masks.causal(6)
RIGHT = (PREFIX & DOCUMENTS).int()


def painted(text):
    """Rows as one sees them."""
    return lambda: [[int(cell == "x") for cell in row] for row in text.split()]


def flipped(i, j):
    def one_cell():
        mask = RIGHT.clone()
        mask[i, j] = 1 - mask[i, j]
        return mask.tolist()

    return one_cell


right(painted("xx.... xx.... xxx... ...x.. ...xx. ...xxx"), "as it should look")
right(lambda: RIGHT, "a tensor")
right(lambda: RIGHT.bool().tolist(), "truths")
right(lambda: RIGHT.numpy(), "an array")
right(lambda: RIGHT.float(), "floats")
right(lambda: tuple(map(tuple, RIGHT.tolist())), "rows as tuples")

wrong("It is inverted")(painted("..xxxx ..xxxx ...xxx xxx.xx xxx..x xxx..."), "inverted")
wrong("The documents have two tokens each")(painted("xx.... xx.... ..x... ..xx.. ....x. ....xx"), "by twos")
wrong("The prefix is missing")(painted("x..... xx.... xxx... ...x.. ...xx. ...xxx"), "no prefix")
wrong("The second document sees the first")(painted("xx.... xx.... xxx... xxxx.. xxxxx. xxxxxx"), "mixed")
wrong("It allows where either mask does")(painted("xxx... xxx... xxx... xxxxxx xxxxxx xxxxxx"), "either mask")
wrong("Rows and columns have changed places")(
    painted("xxx... xxx... ..x... ...xxx ....xx .....x"), "transposed"
)
wrong("Within a document tokens see later ones")(
    painted("xxx... xxx... xxx... ...xxx ...xxx ...xxx"), "documents alone"
)
wrong("The second document has no prefix")(
    painted("xx.... xx.... xxx... ...xx. ...xx. ...xxx"), "two prefixes"
)
wrong("The prefix has two tokens")(painted("xxx... xxx... xxx... ...x.. ...xx. ...xxx"), "a prefix of three")
wrong("It is causal, but the second document sees")(
    painted("x..... xx.... xxx... xxxx.. xxxxx. xxxxxx"), "causal alone"
)
wrong("Everything is open")(lambda: torch.ones(6, 6), "all open")
wrong("Nothing is open")(lambda: [[0] * 6] * 6, "all closed")
wrong("row 5, column 6 should be closed")(flipped(4, 5), "one cell too many")
wrong("row 1, column 2 should be open")(flipped(0, 1), "one cell too few")
wrong("row 1, column 1 should be open")(lambda: RIGHT.tril(-1), "strictly before")
wrong("row 1, column 2 should be open")(lambda: torch.eye(6), "each himself")
wrong("six rows of six zeros and ones")(lambda: RIGHT[:5], "five rows")
wrong("six rows of six zeros and ones")(lambda: 2 * RIGHT, "twos")
wrong("six rows of six zeros and ones")(lambda: torch.full((6, 6), math.nan), "not a number")
wrong("six rows of six zeros and ones")(lambda: RIGHT[None], "an axis for the batch")
wrong("six rows of six zeros and ones")(lambda: str(RIGHT.tolist()), "the rows as text")
wrong("six rows of six zeros and ones")(lambda: None, "nothing")
