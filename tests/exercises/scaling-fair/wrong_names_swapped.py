# expect: The divisors √d and d have changed places
def compare(train, d_k, rates):
    best = {}
    for name, divisor in (("d", d_k**0.5), ("√d", d_k), ("nothing", 1)):
        best[name] = max(((rate, train(divisor, rate)) for rate in rates), key=lambda pair: pair[1])
    return best
