# expect: It is inverted
def mask_for(lengths, n):
    place = torch.arange(n)
    future = place[None, :] > place[:, None]
    return future | (place >= lengths[:, None])[:, None, :]
