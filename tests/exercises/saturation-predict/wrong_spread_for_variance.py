# expect: It takes the spread
import math


def predict_entropy(n, spread, temperature):
    return max(math.log(n) - spread / temperature / 2, 0)
