# expect: It takes the largest rate
def compare(train, d_k, rates):
    best = {}
    for name, divisor in (("√d", d_k**0.5), ("d", d_k), ("nothing", 1)):
        best[name] = max((rate, train(divisor, rate)) for rate in rates)
    return best
