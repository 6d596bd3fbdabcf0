# expect: works entry by entry
def layers_needed(mask):
    reach, layers = mask, 1
    while not torch.equal(mask & reach, reach):
        reach, layers = mask & reach, layers + 1
    return layers
