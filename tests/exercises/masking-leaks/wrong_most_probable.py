# expect: It looks at the most probable word alone
def leaking_pairs(model, n, n_words, mask):
    words, other = torch.randint(n_words, (2, 200, n))
    before, depends = model(words), torch.zeros(n, n, dtype=torch.bool)
    for j in range(n):
        changed = words.clone()
        changed[:, j] = other[:, j]
        moves = (model(changed).argmax(-1) != before.argmax(-1)).float()[..., None]
        depends[:, j] = (moves > 1e-5).any(-1).any(0)
    return (depends & ~mask).nonzero().tolist()
