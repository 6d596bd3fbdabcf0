# expect: Then tokens outside it have taken weight away
def local_weights(scores, p, radius):
    away = torch.arange(1, scores.shape[-1] + 1) - p
    weights = scores.softmax(-1) * torch.exp(-2 * (away / radius) ** 2)
    return weights * (away.abs() <= radius)
