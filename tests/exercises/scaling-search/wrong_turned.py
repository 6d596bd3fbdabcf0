# expect: The pair is turned around
def search(train, rate):
    at = lambda r: -1.0 if math.isnan(train(r)) else train(r)
    while at(rate / 2) >= at(rate):
        rate /= 2
    while at(rate * 2) > at(rate):
        rate *= 2
    return at(rate), rate
