# expect: It counts only the ambiguous words
from fractions import Fraction


def ceiling(counts):
    some = [t for t in counts.values() if len(t) > 1]
    return Fraction(sum(max(t.values()) for t in some), sum(sum(t.values()) for t in some))
