# expect: Every sentence counts alike
from fractions import Fraction
from collections import Counter, defaultdict


def ceiling(sentences, view):
    seen = defaultdict(Counter)
    for (words, tags), probability in sentences.items():
        for i, tag in enumerate(tags):
            seen[view(words, i)][tag] += 1
    right = sum(max(tags.values()) for tags in seen.values())
    return Fraction(right, sum(sum(tags.values()) for tags in seen.values()))
