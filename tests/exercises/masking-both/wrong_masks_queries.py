# expect: It hides the rows of padding tokens
def mask_for(lengths, n):
    place = torch.arange(n)
    return (place[None, :] <= place[:, None]) & (place < lengths[:, None])[:, :, None]
