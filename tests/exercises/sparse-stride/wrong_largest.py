# expect: Of equally cheap strides it returns the largest
def best_stride(n):
    def pairs(s):
        return sum(min(i, s) + 1 + max(i // s - 1, 0) for i in range(n))

    return min(range(n, 0, -1), key=pairs)
