# expect: The tokens are counted from 0
def local_weights(scores, p, radius):
    away = torch.arange(scores.shape[-1]) - p
    near = scores.masked_fill(away.abs() > radius, float("-inf")).softmax(-1)
    return near * torch.exp(-(away**2) / (2 * (radius / 2) ** 2))
