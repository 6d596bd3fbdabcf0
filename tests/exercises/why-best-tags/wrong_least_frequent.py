# expect: It chooses the least frequent tag
def best_tags(counts):
    return {w: min(sorted(tags), key=tags.get) for w, tags in counts.items()}
