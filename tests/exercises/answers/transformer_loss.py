"""The loss of a sentence: each place guesses the next word, and only words that exist are guessed."""

import math

import torch
import torch.nn.functional as F

from answers import right, wrong


def loss(scores, ids, real, *, logs=None, count=lambda real: real[:, 1:].sum()):
    """Right; or with something changed."""
    logs = scores.log_softmax(-1) if logs is None else logs
    surprise = -logs[:, :-1].gather(-1, ids[:, 1:, None])[..., 0]
    return (surprise * real[:, 1:]).sum() / count(real)


def at_pairs(scores, ids, real):
    """For pairs of scores and words that stand side by side."""
    return F.cross_entropy(scores[real], ids[real])


right(loss, "gathered")


@right
def numbers_that_are_ignored(scores, ids, real):
    return F.cross_entropy(scores[:, :-1].mT, ids[:, 1:].masked_fill(~real[:, 1:], -100))


@right
def places_that_count(scores, ids, real):
    sentence, place = real[:, 1:].nonzero(as_tuple=True)
    return F.cross_entropy(scores[sentence, place], ids[sentence, place + 1])


@right
def loops(scores, ids, real):
    found = []
    for b in range(len(ids)):
        for i in range(int(real[b].sum()) - 1):
            found.append(scores[b, i].logsumexp(0) - scores[b, i, ids[b, i + 1]])
    return sum(found) / len(found)


@right
def one_hot(scores, ids, real):
    logs = (scores.log_softmax(-1)[:, :-1] * F.one_hot(ids[:, 1:], scores.shape[-1])).sum(-1)
    return -(logs * real[:, 1:]).sum() / real[:, 1:].sum()


@right
def one_sentence_at_a_time(scores, ids, real):
    lengths = enumerate(real.sum(1).tolist())
    rows = [F.cross_entropy(scores[b, : n - 1], ids[b, 1:n], reduction="none") for b, n in lengths if n > 1]
    return torch.cat(rows).mean()


@right
def a_distribution_of_torch(scores, ids, real):
    logs = torch.distributions.Categorical(logits=scores[:, :-1]).log_prob(ids[:, 1:])
    return -logs[real[:, 1:]].mean()


@wrong("It averages each sentence")
def mean_of_means(scores, ids, real):
    losses = []
    for s, i, n in zip(scores, ids, real.sum(1).tolist(), strict=True):
        if n > 1:
            losses.append(F.cross_entropy(s[: n - 1], i[1:n]))
    return torch.stack(losses).mean()


@wrong("should be")
def by_place(scores, ids, real):
    surprise = F.cross_entropy(scores[:, :-1].mT, ids[:, 1:], reduction="none") * real[:, 1:]
    return (surprise.sum(0) / real[:, 1:].sum(0).clamp(min=1)).mean()


@wrong("The last place wraps round")
def rolled(scores, ids, real):
    return at_pairs(scores, ids.roll(-1, 1), real.roll(-1, 1))


@wrong("The padding counts")
def padding_guesses(scores, ids, real):
    return F.cross_entropy(scores[:, :-1].flatten(0, 1), ids[:, 1:].flatten())


@wrong("should be")
def word_0_is_padding(scores, ids, real):
    return F.cross_entropy(scores[:, :-1].mT, (ids * real)[:, 1:], ignore_index=0)


@wrong("The softmax runs over the places")
def softmax_over_the_places(scores, ids, real):
    logs = F.log_softmax(scores[:, :-1], dim=1)
    return -torch.take_along_dim(logs, ids[:, 1:, None], 2)[real[:, 1:]].mean()


wrong("Each place guesses its own word")(at_pairs, "not shifted")
wrong("It is shifted the wrong way")(lambda s, i, r: at_pairs(s[:, 1:], i[:, :-1], r[:, 1:]), "shifted back")
wrong("It is shifted the wrong way")(
    lambda s, i, r: at_pairs(s[:, 1:], i[:, :-1], r[:, :-1]), "shifted back, the last word counted"
)
wrong("The last word of a sentence has no next one")(
    lambda s, i, r: at_pairs(s[:, :-1], i[:, 1:], r[:, :-1]), "the last word guesses"
)
wrong("should be")(lambda s, i, r: at_pairs(s[:, :-2], i[:, 2:], r[:, 2:]), "two words ahead")
wrong("summed out but still counted in the mean")(
    lambda *a: loss(*a, count=lambda real: real[:, 1:].numel()), "the padding divides"
)
wrong("The mean is over all real words")(
    lambda *a: loss(*a, count=lambda real: real.sum()), "all words divide"
)
wrong("One is taken from the count for every row")(
    lambda *a: loss(*a, count=lambda real: real.sum() - len(real)), "a first word in every row"
)
wrong("That is the sum of the surprises")(lambda *a: loss(*a, count=lambda real: 1), "the sum")
wrong("The sign is missing")(lambda *a: loss(*a, count=lambda real: -real[:, 1:].sum()), "no minus")
wrong("in bits")(lambda *a: loss(*a) / math.log(2), "in bits")
wrong("The scores are taken for probabilities")(lambda s, i, r: loss(s, i, r, logs=s), "no softmax")
wrong("should be")(lambda s, i, r: loss(s.softmax(-1), i, r), "softmax twice")
wrong("should be")(lambda s, i, r: loss(s, i, r, logs=s.softmax(-1)), "p instead of its logarithm")
wrong("several hundreds")(lambda s, i, r: loss(s, i, r, logs=s.softmax(-1).log()), "logarithm of a softmax")
wrong("several hundreds")(lambda s, i, r: loss(s, i, r, logs=(s.softmax(-1) + 1e-9).log()), "a floor under p")
wrong("several hundreds")(
    lambda s, i, r: loss(s, i, r, logs=s.log_softmax(-1).clamp(min=-50)), "log p never below -50"
)
wrong("should be")(
    lambda s, i, r: F.cross_entropy(s[:, :-1][r[:, 1:]], i[:, 1:][r[:, 1:]], label_smoothing=0.1),
    "smoothed labels",
)
wrong("should be")(lambda *a: loss(*a).exp(), "perplexity")
wrong("should be")(lambda *a: loss(*a) / 2, "half of it")
wrong("should be")(lambda *a: loss(*a) * 0, "a mean of nothing")
wrong("should be")(lambda s, i, r: loss(s, i, ~r), "padding only")
wrong("should be")(lambda s, i, r: F.cross_entropy(s[:, :-1].mT, (i * r)[:, 1:]), "padding guesses word 0")
wrong("should be")(lambda s, i, r: loss(s[:1], i[:1], r[:1]), "first sentence only")
wrong("should be")(lambda s, i, r: loss(s[r.all(1)], i[r.all(1)], r[r.all(1)]), "whole sentences only")
wrong("should be")(lambda *a: loss(*(t[:, 1:] for t in a)), "the first guess missing")
wrong("should be")(lambda *a: loss(*(t[:, :-1] for t in a)), "the last guess missing")
wrong("shape")(
    lambda s, i, r: F.cross_entropy(s[:, :-1].mT, i[:, 1:], reduction="none")[r[:, 1:]], "not averaged"
)
wrong("tensor")(lambda *a: loss(*a).item(), "a float")
wrong("no gradient reaches scores")(lambda s, i, r: loss(s.detach(), i, r), "detached")
