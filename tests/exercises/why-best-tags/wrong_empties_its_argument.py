# expect: it changed its argument counts in place
def best_tags(counts):
    best = {}
    for w in list(counts):
        tags = counts.pop(w)
        best[w] = max(sorted(tags), key=tags.get)
    return best
