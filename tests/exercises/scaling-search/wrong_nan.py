# expect: at which it diverges
def search(train, rate):
    while train(rate / 2) > train(rate):
        rate /= 2
    while train(rate * 2) > train(rate):
        rate *= 2
    return rate, train(rate)
