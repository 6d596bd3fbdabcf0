# expect: It averages each sentence
import torch
import torch.nn.functional as F
def next_word_loss(scores, ids, real):
    losses = []
    for s, i, r in zip(scores, ids, real):
        n = int(r.sum())
        if n > 1:
            losses.append(F.cross_entropy(s[: n - 1], i[1:n]))
    return torch.stack(losses).mean()
