# expect: divided by their sum after the bell
def local_weights(scores, p, radius):
    away = torch.arange(1, scores.shape[-1] + 1) - p
    near = scores.masked_fill(away.abs() > radius, float("-inf")).softmax(-1)
    weights = near * torch.exp(-2 * (away / radius) ** 2)
    return weights / weights.sum(-1, keepdim=True)
