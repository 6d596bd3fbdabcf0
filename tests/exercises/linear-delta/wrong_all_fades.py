# expect: The whole state fades
def write(state, k, v, beta):
    return (1 - beta) * state + beta * torch.outer(k, v)
