# expect: The sign is turned
def left_out(score, pieces):
    whole = score(list(pieces))
    return [score(pieces[:i] + pieces[i + 1 :]) - whole for i in range(len(pieces))]
