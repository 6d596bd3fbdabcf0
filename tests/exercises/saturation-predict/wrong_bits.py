# expect: The entropy is in bits
import math


def predict_entropy(n, spread, temperature):
    return max(math.log2(n) - (spread / temperature) ** 2 / 2 / math.log(2), 0)
