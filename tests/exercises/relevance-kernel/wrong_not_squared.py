# expect: The distance is not squared
def kernel_average(at, xs, ys, width):
    return (-(at[:, None] - xs).abs() / width).softmax(-1) @ ys
