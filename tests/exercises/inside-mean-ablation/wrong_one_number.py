# expect: This is one number for the whole head
def layer_without(x, others, head, w_o):
    x = x.clone()
    x[:, :, head] = others[:, head].mean()
    return x.flatten(-2) @ w_o
