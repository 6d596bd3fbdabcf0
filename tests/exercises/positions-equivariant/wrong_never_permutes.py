# expect: If it tries an order, it is the one given
def is_equivariant(f, x):
    order = torch.arange(len(x))
    return torch.allclose(f(x[order]), f(x)[order], atol=1e-5)
