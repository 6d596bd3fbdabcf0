# expect: mean number of right words
def standard_error(right, words):
    return ((right - right.mean()) ** 2).sum().sqrt() / words.sum()
