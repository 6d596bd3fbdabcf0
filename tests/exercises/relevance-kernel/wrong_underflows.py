# expect: far away every exponential is 0
def kernel_average(at, xs, ys, width):
    k = (-((at[:, None] - xs) ** 2) / (2 * width**2)).exp()
    return k @ ys / k.sum(-1)
