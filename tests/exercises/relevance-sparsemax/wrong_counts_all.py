# expect: The threshold counts every score, also those
def sparsemax(z):
    return (z - (z.sum(-1, keepdim=True) - 1) / z.shape[-1]).clamp_min(0)
