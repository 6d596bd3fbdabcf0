# expect: the variance is divided by its square
import math


def predict_entropy(n, spread, temperature):
    return max(math.log(n) - spread**2 / (2 * temperature), 0)
