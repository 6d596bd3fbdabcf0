# expect: The two halves share one row of speeds
def grid_rotary(x, rows, columns, base=10000.0):
    half = x.shape[-1] // 2
    by_row = positions.rotary(x, rows, base=base)[..., :half]
    by_column = positions.rotary(x, columns, base=base)[..., half:]
    return torch.cat((by_row, by_column), -1)
