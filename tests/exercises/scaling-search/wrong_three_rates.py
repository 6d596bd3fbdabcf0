# expect: It tries three rates
def search(train, rate):
    rates = [rate / 2, rate, rate * 2]
    shares = [-1 if math.isnan(share) else share for share in map(train, rates)]
    best = shares.index(max(shares))
    return rates[best], shares[best]
