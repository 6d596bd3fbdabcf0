# expect: It averages over sentences.
import torch


def sharpness(weights, lengths):
    shares = []
    for p, n in zip(weights, lengths.tolist(), strict=True):
        if n > 1:
            row = torch.special.entr(p[:, :n]).sum(-1)
            shares.append(row.mean(-1) / torch.tensor(n).log())
    return torch.stack(shares).mean(0)
