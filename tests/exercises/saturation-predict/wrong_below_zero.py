# expect: No entropy is below zero
import math


def predict_entropy(n, spread, temperature):
    return math.log(n) - (spread / temperature) ** 2 / 2
