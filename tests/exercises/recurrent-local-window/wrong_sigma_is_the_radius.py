# expect: The bell is as wide as the window
def local_weights(scores, p, radius):
    away = torch.arange(1, scores.shape[-1] + 1) - p
    near = scores.masked_fill(away.abs() > radius, float("-inf")).softmax(-1)
    return near * torch.exp(-(away**2) / (2 * radius**2))
