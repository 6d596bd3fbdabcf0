# expect: Differentiate one output row at a time
def leaking_pairs(model, n, d_model, mask):
    x = torch.randn(1, n, d_model, requires_grad=True)
    (slope,) = torch.autograd.grad((model(x) * torch.randn(n, d_model)).sum(), x)
    size = slope[0].abs().amax(-1)
    return [(i, j) for i in range(n) for j in range(n) if not mask[i, j] and size[j] > 1e-6]
