# expect: it takes too many steps one after the other
def recurrence(a, x):
    h, states = torch.zeros_like(x[0]), []
    for gate, token in zip(a, x, strict=True):
        h = gate * h + token
        states.append(h)
    return torch.stack(states)
