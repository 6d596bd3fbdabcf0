# expect: It averages over looks
from collections import Counter, defaultdict


def ceiling(sentences, view):
    seen = defaultdict(Counter)
    for (words, tags), probability in sentences.items():
        for i, tag in enumerate(tags):
            seen[view(words, i)][tag] += probability
    right = sum(max(tags.values()) for tags in seen.values())
    return sum(max(t.values()) / sum(t.values()) for t in seen.values()) / len(seen)
