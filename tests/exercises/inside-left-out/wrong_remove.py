# expect: drop of its first place
def left_out(score, pieces):
    drops = []
    for piece in pieces:
        rest = list(pieces)
        rest.remove(piece)
        drops.append(score(list(pieces)) - score(rest))
    return drops
