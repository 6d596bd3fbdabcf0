# expect: each token may see the next one
def mask_for(lengths, n):
    place = torch.arange(n)
    return (place[None, :] <= place[:, None] + 1) & (place < lengths[:, None])[:, None, :]
