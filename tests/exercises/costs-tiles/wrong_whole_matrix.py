# expect: there is room for tiles of
def causal_tiles(read, n, size):
    q, k, v = (read(name, 0, n) for name in ("queries", "keys", "values"))
    s = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(torch.ones(n, n).triu(1).bool(), -torch.inf)
    return list((s.softmax(-1) @ v).split(size))
