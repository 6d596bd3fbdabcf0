# expect: These are mean squares
def split(s):
    rows, columns = s.mean(-1, keepdim=True), s.mean(-2, keepdim=True)
    mean = s.mean((-2, -1), keepdim=True)
    return torch.stack([part.square().mean((-2, -1)) for part in (rows, columns, s - rows - columns + mean)])
