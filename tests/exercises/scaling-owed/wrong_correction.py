# expect: It divides by one less
def split(s):
    rows, columns = s.mean(-1, keepdim=True), s.mean(-2, keepdim=True)
    return torch.stack([part.var((-2, -1)) for part in (rows, columns, s - rows - columns)])
