# expect: This is an ablation by zero
def layer_without(x, others, head, w_o):
    x = x.clone()
    x[:, :, head] = 0
    return x.flatten(-2) @ w_o
