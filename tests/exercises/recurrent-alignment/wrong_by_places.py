# expect: A character that was made from two places is one character
def alignment_share(weights, made):
    found = [row[i] for row, places in zip(weights, made) for i in places]
    return sum(found) / len(found)
