# expect: The keys should be the words as they were given
def best_tags(counts):
    return {w.lower(): max(sorted(tags), key=tags.get) for w, tags in counts.items()}
