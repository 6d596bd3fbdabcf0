# expect: Take those of the whole sentence away
import torch


def moved(tag, words):
    whole = tag(words, [])
    columns = []
    for j in range(len(words)):
        without = tag(words, [j])
        columns.append(without.sum(-1))
    return torch.stack(columns, -1)
