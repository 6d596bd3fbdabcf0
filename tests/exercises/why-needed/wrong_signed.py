# expect: with their signs
import torch


def moved(tag, words):
    whole = tag(words, [])
    columns = []
    for j in range(len(words)):
        without = tag(words, [j])
        columns.append((without - whole).sum(-1))
    return torch.stack(columns, -1)
