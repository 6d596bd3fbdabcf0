# expect: For the pair it returns the variance of the whole matrix
def split(s):
    query = s.mean(-1).var(-1, correction=0)
    key = s.mean(-2).var(-1, correction=0)
    return torch.stack((query, key, s.var((-2, -1), correction=0)))
