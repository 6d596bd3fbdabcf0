# expect: It is right without a batch alone
def split(s):
    rows, columns = s.mean(1, keepdim=True), s.mean(0, keepdim=True)
    return torch.stack([part.var((-2, -1), correction=0) for part in (rows, columns, s - rows - columns)])
