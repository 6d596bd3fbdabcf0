# expect: Every word gets one tag
def best_tags(counts):
    total = {}
    for tags in counts.values():
        for tag, n in tags.items():
            total[tag] = total.get(tag, 0) + n
    top = max(total, key=total.get)
    return {w: top for w in counts}
