# expect: compare with a tolerance
def is_equivariant(f, x):
    order = torch.randperm(len(x))
    return torch.equal(f(x[order]), f(x)[order])
