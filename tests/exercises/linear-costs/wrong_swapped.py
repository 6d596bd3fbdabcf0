# expect: The two have changed places
def multiplications(n, m, d):
    return 2 * n * m * d, n * n * (m + d)
