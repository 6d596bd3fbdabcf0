# expect: The logarithm has another base
def scores_for(weights):
    return weights.log2()
