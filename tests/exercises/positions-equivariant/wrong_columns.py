# expect: It permutes columns. Permute rows (tokens).
def is_equivariant(f, x):
    orders = [torch.randperm(x.shape[1]) for _ in range(10)]
    return all(torch.allclose(f(x[:, p]), f(x)[:, p], atol=1e-5) for p in orders)
