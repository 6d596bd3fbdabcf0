# expect: without moving them back
def at_its_mean(heads, w_o, i, real):
    heads = heads.clone()
    heads[:, i] = heads[:, i][real].mean(0)
    return heads.reshape(heads.shape[0], heads.shape[2], -1) @ w_o
