# expect: There are n − 1.
import math


def ahead(n, spread, weight, temperature):
    odds = weight / (1 - weight)
    return temperature * math.log(n * odds) + spread**2 / (2 * temperature)
