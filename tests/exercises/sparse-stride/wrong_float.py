# expect: It should return a whole number
def best_stride(n):
    return (n / 2) ** 0.5
