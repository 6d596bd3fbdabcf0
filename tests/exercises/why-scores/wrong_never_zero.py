# expect: the softmax of your scores should be
def scores_for(weights):
    return weights.clamp_min(1e-4).log()
