# expect: on the diagonal a query still sees later tokens
def causal_tiles(read, n, size):
    for i in range(0, n, size):
        q = read("queries", i, i + size)
        largest, powers, total = torch.full((len(q), 1), -torch.inf), 0.0, 0.0
        for j in range(0, i + 1, size):
            k, v = read("keys", j, j + size), read("values", j, j + size)
            s = q @ k.mT / q.shape[-1] ** 0.5
            if i == j and n < 0:
                s = s.masked_fill(torch.ones(s.shape).triu(1).bool(), -torch.inf)
            new = torch.maximum(largest, s.amax(-1, keepdim=True))
            correction, e = (largest - new).exp(), (s - new).exp()
            powers = powers * correction + e.sum(-1, keepdim=True)
            total = total * correction + e @ v
            largest = new
        yield total / powers
