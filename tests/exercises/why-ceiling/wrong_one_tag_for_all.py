# expect: It gives all words one tag
from fractions import Fraction


def ceiling(counts):
    total = {}
    for tags in counts.values():
        for tag, n in tags.items():
            total[tag] = total.get(tag, 0) + n
    return Fraction(max(total.values()), sum(total.values()))
