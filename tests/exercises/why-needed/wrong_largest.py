# expect: It keeps the largest change alone
import torch


def moved(tag, words):
    whole = tag(words, [])
    columns = []
    for j in range(len(words)):
        without = tag(words, [j])
        columns.append((without - whole).abs().max(-1).values)
    return torch.stack(columns, -1)
