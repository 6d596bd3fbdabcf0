# expect: Every pair is turned twice
def grid_rotary(x, rows, columns, base=10000.0):
    x = positions.rotary(x, rows, base=base)
    return positions.rotary(x, columns, base=base)
