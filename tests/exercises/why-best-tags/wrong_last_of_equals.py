# expect: it takes the last in the alphabet
def best_tags(counts):
    return {w: max(sorted(tags, reverse=True), key=tags.get) for w, tags in counts.items()}
