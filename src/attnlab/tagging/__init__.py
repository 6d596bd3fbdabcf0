"""The running task of the book: which tag does each word of a sentence have?"""

from attnlab import book  # noqa: F401  (says what is missing)
from attnlab.tagging import grammar, shipped
from attnlab.tagging.table import ladder
from attnlab.tagging.taggers import MostFrequentTag, Tagger, Vocabulary
from attnlab.tagging.training import evaluate, expected_accuracy, predict, train
from attnlab.tagging.treebank import find_treebank, load_treebank

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
]
