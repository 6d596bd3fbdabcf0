# expect: All heads were replaced
def layer_without(x, others, head, w_o):
    x = x.clone()
    x[:] = others.mean(0)
    return x.flatten(-2) @ w_o
