# expect: plain gradient descent
def adam(p, slope, steps, rate):
    for _ in range(steps):
        p = p - rate * slope(p)
    return p
