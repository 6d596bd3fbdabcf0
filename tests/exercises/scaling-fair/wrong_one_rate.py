# expect: One rate for all favours the divisor it suits
def compare(train, d_k, rates):
    best = {}
    rate = max(rates, key=lambda rate: train(d_k**0.5, rate))
    for name, divisor in (("√d", d_k**0.5), ("d", d_k), ("nothing", 1)):
        best[name] = (rate, train(divisor, rate))
    return best
