# expect: The word was replaced by another piece
def left_out(score, pieces):
    whole = score(list(pieces))
    return [whole - score(pieces[:i] + ["[MASK]"] + pieces[i + 1 :]) for i in range(len(pieces))]
