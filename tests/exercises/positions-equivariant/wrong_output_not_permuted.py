# expect: which is invariance
def is_equivariant(f, x):
    order = torch.randperm(len(x))
    return torch.allclose(f(x[order]), f(x), atol=1e-5)
