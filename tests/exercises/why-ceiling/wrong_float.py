# expect: It went through a float
from collections import Counter, defaultdict


def ceiling(sentences, view):
    seen = defaultdict(Counter)
    for (words, tags), probability in sentences.items():
        for i, tag in enumerate(tags):
            seen[view(words, i)][tag] += probability
    right = sum(max(tags.values()) for tags in seen.values())
    return float(right / sum(sum(tags.values()) for tags in seen.values()))
