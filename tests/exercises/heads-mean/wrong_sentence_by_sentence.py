# expect: Each sentence has its own mean
def at_its_mean(heads, w_o, i, real):
    heads = heads.clone()
    n = real.sum(1, keepdim=True).unsqueeze(-1)
    heads[:, i] = (heads[:, i] * real[..., None]).sum(1, keepdim=True) / n
    return heads.transpose(1, 2).flatten(2) @ w_o
