# expect: 5 VERB against 2 NOUN, it chose NOUN
def best_tags(counts):
    return {w: min(sorted(tags), key=tags.get) for w, tags in counts.items()}
