# expect: What a token has heard stays with it
def heard(masks):
    reach = masks[0].float()
    for mask in masks[1:]:
        reach = ((mask.float() @ reach) > 0).float()
    return reach > 0
