# expect: What is written fades at once
def write(state, k, v, beta, gate):
    return gate * (state + beta * torch.outer(k, v - k @ state))
