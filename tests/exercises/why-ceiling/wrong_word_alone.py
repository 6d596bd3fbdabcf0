# expect: It looks at the word whatever the view shows
from collections import Counter, defaultdict


def ceiling(sentences, view):
    seen = defaultdict(Counter)
    for (words, tags), probability in sentences.items():
        for i, tag in enumerate(tags):
            seen[words[i]][tag] += probability
    right = sum(max(tags.values()) for tags in seen.values())
    return right / sum(sum(tags.values()) for tags in seen.values())
