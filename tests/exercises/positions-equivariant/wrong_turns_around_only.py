# expect: It tries one order, turned around
def is_equivariant(f, x):
    return torch.allclose(f(x.flip(0)), f(x).flip(0), atol=1e-5)
