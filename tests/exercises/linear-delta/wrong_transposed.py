# expect: The outer product is transposed
def write(state, k, v, beta, gate):
    state = gate * state
    return state + beta * torch.outer(v - k @ state, k)
