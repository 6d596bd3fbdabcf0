# expect: the probability of one tag alone
import torch


def moved(tag, words):
    whole = tag(words, [])
    columns = []
    for j in range(len(words)):
        without = tag(words, [j])
        columns.append((whole - without)[torch.arange(len(words)), whole.argmax(-1)])
    return torch.stack(columns, -1)
