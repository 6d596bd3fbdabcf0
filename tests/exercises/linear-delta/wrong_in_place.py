# expect: it changed its argument state in place
def write(state, k, v, beta, gate):
    state *= gate
    state += beta * torch.outer(k, v - k @ state)
    return state
