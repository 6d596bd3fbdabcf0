# expect: Rows and columns have changed places
import torch


def moved(tag, words):
    whole = tag(words, [])
    columns = []
    for j in range(len(words)):
        without = tag(words, [j])
        columns.append((without - whole).abs().sum(-1))
    return torch.stack(columns, 0)
