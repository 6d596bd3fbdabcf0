# expect: it changed its argument x in place
def layer_without(x, others, head, w_o):
    x[:, :, head] = others[:, head].mean(0)
    return x.flatten(-2) @ w_o
