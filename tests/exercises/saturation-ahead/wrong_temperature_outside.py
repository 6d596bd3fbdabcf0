# expect: The others' spread is divided by it, too
import math


def ahead(n, spread, weight, temperature):
    return temperature * (math.log(n - 1) + spread**2 / 2 + math.log(weight / (1 - weight)))
