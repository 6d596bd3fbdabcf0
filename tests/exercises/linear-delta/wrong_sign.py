# expect: Wrong sign
def write(state, k, v, beta, gate):
    state = gate * state
    return state - beta * torch.outer(k, v - k @ state)
