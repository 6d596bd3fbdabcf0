# expect: This is the mean over x itself
def layer_without(x, others, head, w_o):
    mean = x[:, :, head].mean((0, 1))
    x = x.clone()
    x[:, :, head] = mean
    return x.flatten(-2) @ w_o
