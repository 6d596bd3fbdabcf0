# expect: The root is missing
def standard_error(right, words):
    p = right.sum() / words.sum()
    return ((right - p * words) ** 2).sum() / words.sum()
