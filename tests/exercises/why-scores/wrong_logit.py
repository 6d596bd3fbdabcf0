# expect: undoes a sigmoid
def scores_for(weights):
    return (weights / (1 - weights)).log()
