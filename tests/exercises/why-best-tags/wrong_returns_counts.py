# expect: It returns counts
def best_tags(counts):
    return {w: max(tags.values()) for w, tags in counts.items()}
