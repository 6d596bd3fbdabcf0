# expect: Weights first multiplies the two products
def multiplications(n, m, d):
    return n * n * m * d, 2 * n * m * d
