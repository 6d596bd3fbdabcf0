# expect: The pair is turned around
def compare(train, d_k, rates):
    best = {}
    for name, divisor in (("√d", d_k**0.5), ("d", d_k), ("nothing", 1)):
        best[name] = max((train(divisor, rate), rate) for rate in rates)
    return best
