# expect: Points far away weigh most
def kernel_average(at, xs, ys, width):
    return ((at[:, None] - xs) ** 2 / (2 * width**2)).softmax(-1) @ ys
