# expect: Squaring doubles the layers
def layers_needed(mask):
    reach, layers = mask, 1
    while True:
        further = reach.float() @ reach.float() > 0
        if torch.equal(further, reach):
            return layers
        reach, layers = further, 2 * layers
