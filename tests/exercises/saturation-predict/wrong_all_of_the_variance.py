# expect: Half the variance is lost
import math


def predict_entropy(n, spread, temperature):
    return max(math.log(n) - (spread / temperature) ** 2, 0)
