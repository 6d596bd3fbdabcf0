# expect: The mean runs over the columns too
def at_its_mean(heads, w_o, i, real):
    heads = heads.clone()
    heads[:, i] = heads[:, i][real].mean()
    return heads.transpose(1, 2).flatten(2) @ w_o
