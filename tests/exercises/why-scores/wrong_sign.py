# expect: The sign is turned
def scores_for(weights):
    return -weights.log()
