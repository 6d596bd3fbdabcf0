# expect: share of tokens that stay wrong
from fractions import Fraction


def ceiling(counts):
    right = Fraction(sum(max(t.values()) for t in counts.values()), sum(sum(t.values()) for t in counts.values()))
    return 1 - right
