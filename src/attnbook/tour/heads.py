"""What single heads of a model do, each as one number that a control can be set beside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from attnlab.arguments import at_least


class Question(NamedTuple):
    """A sentence in which *it* means one of two nouns, and which one is settled by its last word."""

    begin: str
    ends: tuple[str, str]
    """The word with which *it* means the first noun, and the one with which it means the second."""
    nouns: tuple[str, str]


_QUESTIONS = """
The dog ate the bone because it was/hungry/tasty
The cat chased the mouse because it was/hungry/small
The truck hit the wall because it was/fast/invisible
The trophy did not fit into the box because it was too/big/small
The ball broke the window because it was/heavy/fragile
The fish ate the worm because it was/hungry/juicy
The lion chased the zebra because it was/hungry/weak
The horse ate the grass because it was/hungry/fresh
The stone cracked the glass because it was/hard/thin
The bird left the tree because it was/scared/burning
The car passed the bus because it was/fast/slow
The knife cut the cheese because it was/sharp/soft
The ship left the harbor because it was/repaired/crowded
The rabbit fled from the forest because it was/afraid/dark
The baby dropped the cup because it was/clumsy/hot
The robot failed the test because it was/broken/difficult
The wolf killed the sheep because it was/hungry/slow
The table did not fit through the door because it was too/wide/narrow
The monkey stole the banana because it was/hungry/ripe
The cow drank the water because it was/thirsty/clean
The storm destroyed the house because it was/violent/old
The hammer broke the plate because it was/heavy/fragile
The crowd left the theatre because it was/bored/cold
The bee found the flower because it was/hungry/bright
"""


def _question(line: str) -> Question:
    begin, *ends = line.split("/")
    nouns = [
        word
        for before, word in zip(begin.split(), begin.split()[1:], strict=False)
        if before in ("The", "the")
    ]
    return Question(begin, tuple(ends), tuple(nouns))


# Written before they were tried, and not used to choose a head.
_FITS_ONE = """
The goat ate the leaf because it was/hungry/green
The donkey drank the milk because it was/thirsty/fresh
The bear opened the jar because it was/curious/sticky
The pony dropped the bag because it was/tired/slippery
The parrot learned the song because it was/clever/simple
The spider left the corner because it was/frightened/dusty
The snake crossed the road because it was/hungry/empty
The squirrel hid the nut because it was/greedy/edible
The frog avoided the pond because it was/afraid/polluted
The sheep followed the path because it was/obedient/narrow
The duck entered the kitchen because it was/curious/open
The mule refused the hill because it was/stubborn/steep
The pigeon ate the bread because it was/hungry/stale
The chicken left the barn because it was/frightened/flooded
The turtle entered the river because it was/thirsty/shallow
The camel drank the juice because it was/thirsty/sour
The crow stole the ring because it was/cunning/golden
The tiger avoided the village because it was/shy/populated
The puppy chewed the shoe because it was/bored/worn
The kitten climbed the curtain because it was/playful/woven
The elephant crossed the valley because it was/thirsty/treeless
The dragon guarded the treasure because it was/greedy/valuable
The hen found the seed because it was/hungry/ripe
The owl left the tower because it was/hungry/ruined
The fox opened the gate because it was/cunning/unlocked
The calf followed the road because it was/obedient/paved
The bull broke the fence because it was/angry/wooden
The rat ate the soup because it was/starving/salty
The deer left the meadow because it was/frightened/flooded
The swan crossed the canal because it was/hungry/narrow
The lizard climbed the pole because it was/afraid/wooden
The crab left the beach because it was/afraid/polluted
The raven dropped the key because it was/tired/rusty
The dolphin found the coin because it was/curious/golden
The panda opened the bottle because it was/thirsty/unsealed
The moth reached the candle because it was/restless/lit
"""
_FITS_BOTH = """
The statue did not fit onto the shelf because it was too/wide/narrow
The lamp did not fit under the table because it was too/tall/low
The arrow went through the shield because it was/sharp/thin
The branch broke the roof because it was/heavy/weak
The box crushed the basket because it was/heavy/weak
The train passed the truck because it was/fast/slow
The boat hit the bridge because it was/tall/low
The rock cracked the mirror because it was/hard/thin
The blanket did not fit into the suitcase because it was too/thick/small
The axe split the log because it was/sharp/soft
The ship towed the boat because it was/strong/broken
The sword cut the rope because it was/sharp/thin
The couch did not fit through the gate because it was too/wide/narrow
The ladder did not fit under the bridge because it was too/tall/low
The book did not fit into the pocket because it was too/big/small
The rug did not fit into the trunk because it was too/thick/small
The painting did not fit onto the wall because it was too/wide/narrow
The coat did not fit into the drawer because it was too/big/small
The spear went through the armor because it was/strong/weak
The bullet went through the fence because it was/hard/soft
The needle went through the cloth because it was/hard/soft
The hail broke the roof because it was/hard/weak
The nail cracked the board because it was/thick/thin
The crate crushed the chair because it was/heavy/weak
The piano crushed the bench because it was/heavy/weak
The bicycle passed the tractor because it was/fast/slow
The taxi passed the van because it was/fast/slow
The plane passed the balloon because it was/fast/slow
The mast hit the branch because it was/tall/low
The tractor towed the wagon because it was/strong/broken
The tug towed the barge because it was/strong/broken
The engine pulled the train because it was/strong/broken
The saw cut the plank because it was/hard/soft
The blade cut the wire because it was/sharp/thin
The drill pierced the panel because it was/hard/soft
The wave sank the raft because it was/strong/weak
"""


def _questions(text: str) -> tuple[Question, ...]:
    return tuple(_question(line) for line in text.strip().splitlines())


IT = _questions(_QUESTIONS)
"""Twenty-four such sentences, written for this book after those of Winograd (1972)."""
FITS_ONE = _questions(_FITS_ONE)
"""Thirty-six others, in which each last word can be said of one of the nouns only: a road is never hungry."""
FITS_BOTH = _questions(_FITS_BOTH)
"""Thirty-six others, in which each last word can be said of both: only what happened decides."""


@torch.no_grad()
def weights_of(model: nn.Module, text: str | Tensor) -> Tensor:
    """Return the weights of all heads for one text.

    Args:
        model: a `MiniLM` or a `SmolLM2`.
        text: the text; or its numbers (1, n).

    Returns:
        (n_layers, n_heads, n, n), rows are tokens that look.
    """
    ids = model.tokens(text) if isinstance(text, str) else text
    ids = ids[0] if isinstance(ids, tuple) else ids
    causal = {"is_causal": True} if hasattr(model, "out_proj") else {}
    words = model.embedding(ids)
    read = model.stack(words, need_weights=True, **causal) if causal else model.read(words, need_weights=True)
    return torch.stack(read[1])[:, 0]


def at_distance(weights: Tensor, distance: int, edge: int = 0) -> Tensor:
    """Return how much each head looks at one place, counted from the token that looks.

    Args:
        weights: (..., n, n).
        distance: -1 for the token before, 1 for the one after.
        edge: tokens at either end that are no words: they neither look nor are looked at.

    Returns:
        (...), the mean over all tokens that have such a neighbour.

    Raises:
        ValueError: no token has one.

    References:
        Clark et al. 2019, section 3.

    >>> at_distance(torch.eye(3).roll(-1, 1), -1)
    tensor(1.)
    """
    inner = weights[..., edge : weights.shape[-2] - edge, edge : weights.shape[-1] - edge]
    found = inner.diagonal(distance, -2, -1)
    if not found.shape[-1]:
        raise ValueError(f"distance must leave a pair of tokens, got {distance} for {inner.shape[-1]} words")
    return found.mean(-1)


def after_last_time(weights: Tensor, period: int) -> Tensor:
    """Return how much each head looks at what came after the same token, one period ago.

    Args:
        weights: (..., n, n) of a text that repeats itself after `period` tokens.
        period: its length.

    Returns:
        (...), the mean over the tokens of the second round on.

    Raises:
        ValueError: the text has no second round.

    References:
        Olsson et al. 2022, "prefix matching".

    >>> after_last_time(torch.ones(4, 4).tril() / torch.arange(1, 5)[:, None], 2)
    tensor(0.2917)
    """
    at_least(1, period=period)
    found = weights.diagonal(1 - period, -2, -1)[..., 1:]
    if period >= weights.shape[-1]:
        raise ValueError(f"period must be smaller than n = {weights.shape[-1]}, got {period}")
    return found.mean(-1)


def names(places: Sequence[tuple[int, int]]) -> str:
    """Name heads by layer and number, from 1.

    >>> names([(0, 2), (3, 1)])
    '1.3, 4.2'
    """
    return ", ".join(f"{layer + 1}.{head + 1}" for layer, head in places)
