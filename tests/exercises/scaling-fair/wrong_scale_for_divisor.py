# expect: It passes the scale, such as 1/√d
def compare(train, d_k, rates):
    best = {}
    for name, divisor in (("√d", d_k**-0.5), ("d", 1 / d_k), ("nothing", 1)):
        tried = [(rate, train(divisor, rate)) for rate in rates]
        best[name] = max(tried, key=lambda pair: pair[1])
    return best
