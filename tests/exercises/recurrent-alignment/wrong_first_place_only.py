# expect: Of several right places only the first counts
def alignment_share(weights, made):
    found = [row[places[0]] for row, places in zip(weights, made) if places]
    return sum(found) / len(found)
