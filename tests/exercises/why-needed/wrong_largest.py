# expect: It keeps the largest change alone
import torch

from attnlab.tagging import shipped


def moved(words):
    tagger = shipped.load()
    whole = tagger.tag(words).probabilities
    columns = []
    for j in range(len(words)):
        without = tagger.tag(words, hidden=[j]).probabilities
        columns.append((without - whole).abs().max(-1).values)
    return torch.stack(columns, -1)
