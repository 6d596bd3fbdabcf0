# expect: It is off by one
def layers_needed(mask):
    step, reach, layers = mask.float(), mask, 1
    while True:
        further = step @ reach.float() > 0
        layers += 1
        if torch.equal(further, reach):
            return layers
        reach = further
