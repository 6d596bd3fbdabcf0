# expect: Leave them as they are written
def best_tags(counts):
    return {w.lower(): max(sorted(tags), key=tags.get) for w, tags in counts.items()}
