# expect: It goes one step past the best
def search(train, rate):
    at = lambda r: -1.0 if math.isnan(train(r)) else train(r)
    while at(rate / 2) >= at(rate):
        rate /= 2
    while True:
        before, rate = rate, rate * 2
        if at(rate) < at(before):
            return rate, train(rate)
