# expect: As many tokens must come out as go in
def bag_of_context(x):
    return x.mean(-2)
