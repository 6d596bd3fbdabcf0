# expect: The whole state fades
def write(state, k, v, beta, gate):
    state = gate * state
    return (1 - beta) * state + beta * torch.outer(k, v)
