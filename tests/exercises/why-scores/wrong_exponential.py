# expect: It takes exponentials
def scores_for(weights):
    return weights.exp()
