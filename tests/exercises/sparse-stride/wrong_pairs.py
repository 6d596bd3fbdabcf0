# expect: The stride that needs so many is wanted
def best_stride(n):
    def pairs(s):
        return sum(min(i, s) + 1 + max(i // s - 1, 0) for i in range(n))

    return min(pairs(s) for s in range(1, n + 1))
