# expect: Permute rows (tokens), not columns
def is_equivariant(f, x):
    order = torch.tensor([2, 0, 3, 1])
    return torch.allclose(f(x[:, order]), f(x)[:, order], atol=1e-5)
