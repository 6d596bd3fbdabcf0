# expect: 256 of them are 0 in eight bits
def layers_needed(mask):
    step = mask.to(torch.uint8)
    reach, layers = mask, 1
    while True:
        further = (step @ reach.to(torch.uint8)).bool()
        if torch.equal(further, reach):
            return layers
        reach, layers = further, layers + 1
