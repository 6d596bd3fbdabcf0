# expect: should hold True and False, it has dtype float32
def mask_for(lengths, n):
    place = torch.arange(n)
    mask = (place[None, :] <= place[:, None]) & (place < lengths[:, None])[:, None, :]
    return torch.zeros(mask.shape).masked_fill(~mask, float("-inf"))
