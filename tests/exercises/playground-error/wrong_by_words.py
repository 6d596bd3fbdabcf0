# expect: Sentences are drawn
def standard_error(right, words):
    p = right.sum() / words.sum()
    return (p * (1 - p) / words.sum()) ** 0.5
