# expect: Head i is set to zero
def at_its_mean(heads, w_o, i, real):
    heads = heads.clone()
    heads[:, i] = 0
    return heads.transpose(1, 2).flatten(2) @ w_o
