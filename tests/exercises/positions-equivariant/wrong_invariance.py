# expect: It takes invariance, f(PX) = f(X), as well
def is_equivariant(f, x):
    for _ in range(5):
        order = torch.randperm(len(x))
        got = f(x[order])
        if not (torch.allclose(got, f(x), atol=1e-5) or torch.allclose(got, f(x)[order], atol=1e-5)):
            return False
    return True
