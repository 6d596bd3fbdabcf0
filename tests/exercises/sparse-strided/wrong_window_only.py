# expect: It is a window
def strided_mask(n, stride):
    place = torch.arange(n)
    back = place[:, None] - place
    return (back >= 0) & (back <= stride)
