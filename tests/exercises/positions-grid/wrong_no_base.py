# expect: It ignores the base
def grid_rotary(x, rows, columns, base=10000.0):
    half = x.shape[-1] // 2
    by_row = positions.rotary(x[..., :half], rows)
    return torch.cat((by_row, positions.rotary(x[..., half:], columns)), -1)
