# expect: It takes ln w.
import math


def ahead(n, spread, weight, temperature):
    return temperature * math.log((n - 1) * weight) + spread**2 / (2 * temperature)
