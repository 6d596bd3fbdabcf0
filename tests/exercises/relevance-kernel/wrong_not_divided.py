# expect: The kernel values are not divided
def kernel_average(at, xs, ys, width):
    return (-((at[:, None] - xs) ** 2) / (2 * width**2)).exp() @ ys
