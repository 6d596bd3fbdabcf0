"""The running task of the book: which tag does each word of a sentence have?"""

from attnbook.tagging import grammar, shipped, views
from attnbook.tagging.table import ladder
from attnbook.tagging.taggers import MostFrequentTag, Tagger, Vocabulary
from attnbook.tagging.training import evaluate, expected_accuracy, predict, train
from attnbook.tagging.treebank import find_treebank, load_treebank

__all__ = [
    "MostFrequentTag",
    "Tagger",
    "Vocabulary",
    "evaluate",
    "expected_accuracy",
    "find_treebank",
    "grammar",
    "ladder",
    "load_treebank",
    "predict",
    "shipped",
    "train",
    "views",
]
