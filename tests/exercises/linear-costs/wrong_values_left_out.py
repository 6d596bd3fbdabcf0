# expect: Weights first leaves out the values
def multiplications(n, m, d):
    return n * m * n, 2 * n * m * d
