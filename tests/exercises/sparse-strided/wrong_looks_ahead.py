# expect: It is not causal
def strided_mask(n, stride):
    place = torch.arange(n)
    back = place[:, None] - place
    return (back.abs() <= stride) | (back % stride == 0)
