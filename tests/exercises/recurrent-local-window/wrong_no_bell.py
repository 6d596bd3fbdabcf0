# expect: There is no bell
def local_weights(scores, p, radius):
    away = torch.arange(1, scores.shape[-1] + 1) - p
    return scores.masked_fill(away.abs() > radius, float("-inf")).softmax(-1)
