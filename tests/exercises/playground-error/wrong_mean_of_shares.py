# expect: p is the mean of the sentences' shares
def standard_error(right, words):
    p = (right / words).mean()
    return ((right - p * words) ** 2).sum().sqrt() / words.sum()
