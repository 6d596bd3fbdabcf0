# expect: It cuts and then divides by the sum
def sparsemax(z):
    p = (z - z.amax(-1, keepdim=True) + 1).clamp_min(0)
    return p / p.sum(-1, keepdim=True)
