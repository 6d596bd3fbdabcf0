# expect: the spread of their scores counts
import math


def ahead(n, spread, weight, temperature):
    return temperature * (math.log(n - 1) + math.log(weight / (1 - weight)))
