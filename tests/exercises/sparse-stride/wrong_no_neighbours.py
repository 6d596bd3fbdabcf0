# expect: The neighbours have been forgotten
def best_stride(n):
    def pairs(s):
        return sum(max(i // s - 1, 0) for i in range(n))

    return min(range(1, n + 1), key=pairs)
