# expect: it changed its argument z in place
from attnlab import scores


def sparsemax(z):
    z -= z.amax(-1, keepdim=True)
    return scores.sparsemax(z)
