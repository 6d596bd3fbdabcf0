# expect: it changed its argument pieces in place
def left_out(score, pieces):
    whole = score(list(pieces))
    drops = []
    for i in range(len(pieces)):
        drops.append(whole - score(pieces[:i] + pieces[i + 1 :]))
    pieces.clear()
    return drops
