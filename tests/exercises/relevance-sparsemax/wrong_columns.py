# expect: It works down the columns
from attnlab import scores


def sparsemax(z):
    return scores.sparsemax(z, dim=0)
