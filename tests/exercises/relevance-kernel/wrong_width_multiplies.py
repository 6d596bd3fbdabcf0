# expect: The width multiplies
def kernel_average(at, xs, ys, width):
    return (-((at[:, None] - xs) ** 2) * width**2 / 2).softmax(-1) @ ys
