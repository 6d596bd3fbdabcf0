# expect: Wrong sign
def write(state, k, v, beta):
    return state - beta * torch.outer(k, v - k @ state)
