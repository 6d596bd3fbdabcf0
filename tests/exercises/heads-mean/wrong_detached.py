# expect: no gradient
def at_its_mean(heads, w_o, i, real):
    heads = heads.clone()
    heads[:, i] = heads[:, i][real].mean(0)
    return heads.detach().transpose(1, 2).flatten(2) @ w_o
