# expect: not state @ k
def write(state, k, v, beta):
    return state + beta * torch.outer(k, v - state @ k)
