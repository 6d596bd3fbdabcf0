# expect: their number outgrows the type
def layers_needed(mask):
    step = ways = mask.float()
    layers = 1
    while True:
        more = step @ ways
        if torch.equal(more > 0, ways > 0):
            return layers
        ways, layers = more, layers + 1
