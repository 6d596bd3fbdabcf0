# expect: it builds tables of n × n numbers
from attnlab import masks


def best_stride(n):
    return min(range(1, 2 * int(n**0.5)), key=lambda s: int(masks.strided(n, s).sum()))
