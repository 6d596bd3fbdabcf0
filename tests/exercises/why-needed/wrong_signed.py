# expect: with their signs
import torch

from attnlab.tagging import shipped


def moved(words):
    tagger = shipped.load()
    whole = tagger.tag(words).probabilities
    columns = []
    for j in range(len(words)):
        without = tagger.tag(words, hidden=[j]).probabilities
        columns.append((without - whole).sum(-1))
    return torch.stack(columns, -1)
