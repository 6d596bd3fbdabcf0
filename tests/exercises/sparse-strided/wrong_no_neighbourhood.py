# expect: The neighbourhood is missing
def strided_mask(n, stride):
    place = torch.arange(n)
    back = place[:, None] - place
    return (back >= 0) & (back % stride == 0)
