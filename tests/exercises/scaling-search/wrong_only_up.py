# expect: It only goes up
def search(train, rate):
    share = train(rate)
    while train(2 * rate) > share:
        rate *= 2
        share = train(rate)
    return rate, share
