# expect: Values first counts one product only
def multiplications(n, m, d):
    return n * n * (m + d), n * m * d
