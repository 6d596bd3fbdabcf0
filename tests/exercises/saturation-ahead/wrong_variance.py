# expect: The variance comes in whole.
import math


def ahead(n, spread, weight, temperature):
    odds = weight / (1 - weight)
    return temperature * math.log((n - 1) * odds) + spread**2 / temperature
