# expect: It is the distance, row - column
def strided_mask(n, stride):
    place = torch.arange(n)
    back = place[:, None] - place
    return (back >= 0) & ((back <= stride) | (place % stride == 0))
