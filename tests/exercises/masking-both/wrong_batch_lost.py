# expect: The batch is lost
def mask_for(lengths, n):
    place = torch.arange(n)
    return (place[None, :] <= place[:, None]) & (place < lengths.max())
