# expect: A word that comes twice loses both places
def left_out(score, pieces):
    whole = score(list(pieces))
    return [whole - score([p for p in pieces if p != piece]) for piece in pieces]
