# expect: before it faded
def write(state, k, v, beta, gate):
    return gate * state + beta * torch.outer(k, v - k @ state)
