# expect: It averages over words
from fractions import Fraction


def ceiling(counts):
    shares = [Fraction(max(t.values()), sum(t.values())) for t in counts.values()]
    return sum(shares) / len(shares)
