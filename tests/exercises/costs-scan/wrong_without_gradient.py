# expect: no gradient reaches a
def recurrence(a, x):
    h, states = 0.0, []
    for gate, token in zip(a.detach().numpy(), x.detach().numpy(), strict=True):
        h = gate * h + token
        states.append(torch.from_numpy(h))
    return torch.stack(states)
