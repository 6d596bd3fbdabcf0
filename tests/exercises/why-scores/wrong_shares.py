# expect: It returns the shares themselves
def scores_for(weights):
    return weights
