# expect: Rows of padding keep what head i said
def at_its_mean(heads, w_o, i, real):
    heads = heads.clone()
    heads[:, i] = heads[:, i].masked_scatter(real[..., None], heads[:, i][real].mean(0).expand(int(real.sum()), -1).clone())
    return heads.transpose(1, 2).flatten(2) @ w_o
