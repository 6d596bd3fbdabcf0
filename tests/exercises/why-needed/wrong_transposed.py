# expect: Rows and columns have changed places
import torch

from attnlab.tagging import shipped


def moved(words):
    tagger = shipped.load()
    whole = tagger.tag(words).probabilities
    columns = []
    for j in range(len(words)):
        without = tagger.tag(words, hidden=[j]).probabilities
        columns.append((without - whole).abs().sum(-1))
    return torch.stack(columns, 0)
