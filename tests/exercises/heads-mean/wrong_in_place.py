# expect: changed
def at_its_mean(heads, w_o, i, real):
    heads[:, i] = heads[:, i][real].mean(0)
    return heads.transpose(1, 2).flatten(2) @ w_o
