# expect: The weights of several right places are averaged
def alignment_share(weights, made):
    found = [row[list(places)].mean() for row, places in zip(weights, made) if places]
    return sum(found) / len(found)
