# expect: it reads more than the
def causal_tiles(read, n, size):
    for i in range(n):
        q, parts = read("queries", i, i + 1), []
        for j in range(0, i + 1, size):
            k, v = read("keys", j, min(j + size, i + 1)), read("values", j, min(j + size, i + 1))
            parts.append((q @ k.mT / q.shape[-1] ** 0.5, v))
        s, v = torch.cat([s for s, _ in parts], 1), torch.cat([v for _, v in parts])
        yield s.softmax(-1) @ v
