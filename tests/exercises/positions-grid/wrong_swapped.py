# expect: Rows and columns have changed places
def grid_rotary(x, rows, columns, base=10000.0):
    half = x.shape[-1] // 2
    by_row = positions.rotary(x[..., :half], columns, base=base)
    by_column = positions.rotary(x[..., half:], rows, base=base)
    return torch.cat((by_row, by_column), -1)
