# expect: Values first reads the sums once
def multiplications(n, m, d):
    return n * n * (m + d), n * m * d + m * d
