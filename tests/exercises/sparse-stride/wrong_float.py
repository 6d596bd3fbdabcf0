# expect: it is 5.339
def best_stride(n):
    return (n / 2) ** 0.5
