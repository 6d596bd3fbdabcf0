# expect: It lists what may be seen as well
def leaking_pairs(model, n, d_model, mask):
    x = torch.randn(1, n, d_model, requires_grad=True)
    out, found = model(x), []
    for i in range(n):
        (slope,) = torch.autograd.grad(out[0, i] @ torch.randn(d_model), x, retain_graph=True)
        size = slope[0].abs().amax(-1)
        found += [(i, j) for j in range(n) if size[j] > 1e-6]
    return found
