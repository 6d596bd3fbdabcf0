# expect: It divides by all characters
def alignment_share(weights, made):
    total = 0.0
    for row, places in zip(weights, made):
        for i in places:
            total = total + row[i]
    return total / len(made)
