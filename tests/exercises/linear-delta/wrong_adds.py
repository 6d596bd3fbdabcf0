# expect: It adds the value to what is there
def write(state, k, v, beta, gate):
    state = gate * state
    return state + beta * torch.outer(k, v)
