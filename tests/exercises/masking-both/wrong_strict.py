# expect: the diagonal is closed
def mask_for(lengths, n):
    place = torch.arange(n)
    return (place[None, :] < place[:, None]) & (place < lengths[:, None])[:, None, :]
