# expect: It takes the nearest point alone
def kernel_average(at, xs, ys, width):
    return ys[(at[:, None] - xs).abs().argmin(-1)]
