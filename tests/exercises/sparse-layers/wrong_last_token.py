# expect: It looks at the last token only
def layers_needed(mask):
    step, reach, layers = mask.float(), mask, 1
    while True:
        further = step @ reach.float() > 0
        if torch.equal(further[-1], reach[-1]):
            return layers
        reach, layers = further, layers + 1
