"""A task for a sentence encoder: find the word that a definition explains, among all words of the list."""

from __future__ import annotations

from torch import Tensor

LIST = """
knife: a tool with a sharp blade that cuts
fork: a tool with points for lifting food to the mouth
spoon: a small bowl on a handle, for soup
scissors: two blades on a screw that cut paper
river: water that flows through the land to the sea
lake: a large body of water with land all around it
island: land with water all around it
bridge: a road built over water
doctor: a person who treats the sick
nurse: a person who cares for patients in a hospital
teacher: a person who explains things to pupils
student: a person who learns at a university
bird: an animal with wings and feathers
fish: an animal that breathes in water and swims
snake: a long animal without legs
spider: a small animal with eight legs that weaves a web
apple: a round fruit with a core, red or green
lemon: a sour yellow fruit
bread: food baked from flour and water
cheese: food made from milk, often yellow
summer: the warmest part of the year
winter: the coldest part of the year
morning: the first part of the day
evening: the last part of the day, before night
king: a man who rules a country because his father did
queen: a woman who rules a country or is married to its ruler
soldier: a person who fights in an army
thief: a person who takes what belongs to others
window: glass in a wall that lets light in
door: what you open to enter a room
roof: the top of a house, which keeps out the rain
stairs: steps that lead from one floor to the next
train: a row of carriages that runs on rails
ship: a large vessel that crosses the ocean
bicycle: a vehicle with two wheels and pedals
airplane: a machine with wings that carries people through the air
piano: a large instrument with black and white keys
drum: an instrument that is hit with sticks
violin: an instrument with four strings, played with a bow
song: words that are set to music
rain: water that falls from the clouds
snow: white flakes that fall from the sky when it is cold
wind: air that moves
fog: a cloud so near the ground that you can't see far
heart: the organ that pumps blood
brain: the organ that thinks
lung: the organ that takes in air
stomach: the organ that digests food
shoe: what you wear on your foot
hat: what you wear on your head
glove: what you wear on your hand
coat: what you wear over your other clothes when it is cold
letter: a message on paper that is sent by post
newspaper: sheets of paper with the reports of the day
dictionary: a book that says what words mean
map: a drawing that shows where places are
clock: a device that shows the time
mirror: glass in which you see yourself
lamp: a device that gives light
camera: a device that takes pictures
sleep: to rest with closed eyes through the night
whisper: to speak so quietly that few can hear
run: to move on foot as fast as you can
laugh: to make a sound because something is funny
cry: to have tears in your eyes because you are sad
forget: to lose something from your memory
borrow: to take something and promise to give it back
sell: to give something away for money
"""
WORDS, DEFINITIONS = zip(*(line.split(": ") for line in LIST.strip().splitlines()), strict=True)
"""68 common words, and for each a definition, written for this book, that does not contain it."""


def losses(words: Tensor, definitions: Tensor, sharpness: float = 20.0) -> Tensor:
    """Say how surprised a model is by the right word of each definition.

    The cosines of a definition with all words, times `sharpness`, are the scores of a softmax; the loss is
    the negative logarithm of what the right word gets. It is the loss that the model was trained with.

    Args:
        words: vectors of the words (n, d), of length 1.
        definitions: vectors of their definitions, in the same order.
        sharpness: the inverse temperature; 20 in the model's training.

    Returns:
        Losses (n,), in nats.

    References:
        Reimers and Gurevych 2020 and the model's card (cosines times 20, cross-entropy).

    >>> import torch
    >>> losses(torch.eye(2), torch.eye(2)).max() < 1e-8
    tensor(True)
    """
    return -(sharpness * definitions @ words.mT).log_softmax(-1).diagonal()
