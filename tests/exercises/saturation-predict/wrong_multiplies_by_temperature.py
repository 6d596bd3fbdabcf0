# expect: It multiplies by the temperature
import math


def predict_entropy(n, spread, temperature):
    return max(math.log(n) - (spread * temperature) ** 2 / 2, 0)
