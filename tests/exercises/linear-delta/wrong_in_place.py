# expect: changed its argument in place
def write(state, k, v, beta):
    state += beta * torch.outer(k, v - k @ state)
    return state
