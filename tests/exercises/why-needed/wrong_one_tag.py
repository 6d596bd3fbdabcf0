# expect: the probability of one tag alone
import torch

from attnlab.tagging import shipped


def moved(words):
    tagger = shipped.load()
    whole = tagger.tag(words).probabilities
    columns = []
    for j in range(len(words)):
        without = tagger.tag(words, hidden=[j]).probabilities
        columns.append((whole - without)[torch.arange(len(words)), whole.argmax(-1)])
    return torch.stack(columns, -1)
