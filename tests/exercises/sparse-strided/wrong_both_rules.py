# expect: Either is enough
def strided_mask(n, stride):
    place = torch.arange(n)
    back = place[:, None] - place
    return (back >= 0) & (back <= stride) & (back % stride == 0)
