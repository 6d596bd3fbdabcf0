# expect: not state @ k
def write(state, k, v, beta, gate):
    state = gate * state
    return state + beta * torch.outer(k, v - state @ k)
