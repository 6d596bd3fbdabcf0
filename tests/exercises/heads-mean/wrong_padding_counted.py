# expect: Padding is counted in the mean
def at_its_mean(heads, w_o, i, real):
    heads = heads.clone()
    heads[:, i] = heads[:, i].mean((0, 1))
    return heads.transpose(1, 2).flatten(2) @ w_o
