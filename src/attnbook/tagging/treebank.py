"""The English Web Treebank of Universal Dependencies (UD 2.16, CC BY-SA 4.0): find it, fetch it, read it."""

from __future__ import annotations

import hashlib
import http.client
import io
import os
import urllib.error
import urllib.request
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import conllu

from attnbook.tagging.grammar import Sentence
from attnlab.downloads import written_whole

TAGS = tuple(
    "ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X".split()  # noqa: SIM905
)
COMMIT = "15d613d8447b3478787d4c278730a1e48a945efb"
SOURCE = f"https://raw.githubusercontent.com/UniversalDependencies/UD_English-EWT/{COMMIT}"
CHECKSUMS = {
    "en_ewt-ud-train.conllu": "3fb78e2b55482c8ee00caa653af436c88c9e5bc9a73ce26e4ae3ddc79d2b7e7b",
    "en_ewt-ud-dev.conllu": "531a54ff90d6ab12201c5a50c3e78e6ddac4de69abc4bce5d275d3cd29efe2b6",
    "en_ewt-ud-test.conllu": "e266e515a0a7547657ed3d90d9ba46487d6bd251f27ad4269d4e8a427c8555cd",
}
WHAT_TO_DO = (
    f"Download the three files {', '.join(CHECKSUMS)} from {SOURCE} into one folder, and pass that folder or "
    "set ATTNLAB_DATA to it."
)


class TreebankError(Exception):
    """The treebank cannot be had, or is not the release this book was measured on."""


@dataclass(frozen=True, repr=False)
class Treebank:
    """The sentences of the three splits, in the order of the files."""

    train: tuple[Sentence, ...]
    dev: tuple[Sentence, ...]
    test: tuple[Sentence, ...]

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name} {len(getattr(self, name))}" for name in ("train", "dev", "test"))
        return f"<Treebank: {sizes} sentences>"


def find_treebank(path: str | os.PathLike | None = None) -> Path | None:
    """Look for the treebank on this machine, without a network.

    Args:
        path: a folder to look in first; then `ATTNLAB_DATA`, then the cache.

    Returns:
        The first of these folders that holds all three files, or None.

    >>> find_treebank("/no/such/folder") is None or True
    True
    """
    places = [path, os.environ.get("ATTNLAB_DATA"), cache_folder()]
    for place in places:
        if place and all((Path(place) / name).is_file() for name in CHECKSUMS):
            return Path(place)
    return None


def load_treebank(path: str | os.PathLike | None = None) -> Treebank:
    """Read the treebank: from a path, from `ATTNLAB_DATA`, from the cache, or from the network.

    A folder that is named, by argument or variable, must hold the three files: a typing mistake should be
    reported, not answered with a download. Every file's SHA-256 is checked before it is read.

    Args:
        path: the folder of the three CoNLL-U files.

    Returns:
        The sentences, with one token for each syntactic word ("don't" is "do", "n't").

    Raises:
        TreebankError: a file is missing, differs from the pinned release or cannot be downloaded; the message
            says which, and what to do.

    References:
        Silveira et al. 2014; Nivre et al. 2020.

    >>> load_treebank("/no/such/folder")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    attnbook.tagging.treebank.TreebankError: path is /no/such/folder, which has no en_ewt-ud-train.conllu. ...
    """
    named = path or os.environ.get("ATTNLAB_DATA")
    if named:
        folder = Path(named)
        for name in CHECKSUMS:
            if not (folder / name).is_file():
                called = "path" if path else "ATTNLAB_DATA"
                raise TreebankError(f"{called} is {folder}, which has no {name}. {WHAT_TO_DO}")
    else:
        folder = cache_folder()
        for name in CHECKSUMS:
            if not (folder / name).is_file():
                _download(name, folder)
    return Treebank(*(tuple(read(folder / name, checksum)) for name, checksum in CHECKSUMS.items()))


def cache_folder() -> Path:
    """Return where downloads are kept: `ATTNLAB_CACHE`, or attnlab in the user's cache folder.

    >>> cache_folder().parts[-1] == "ewt-2.16" or "ATTNLAB_CACHE" in os.environ
    True
    """
    if os.environ.get("ATTNLAB_CACHE"):
        return Path(os.environ["ATTNLAB_CACHE"])
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "attnlab" / "ewt-2.16"


def read(file: Path, checksum: str | None = None) -> list[Sentence]:
    """Read the words and tags of one CoNLL-U file.

    Args:
        file: the file.
        checksum: the SHA-256 it must have; not checked if None.

    Returns:
        Its sentences. Multi-word ranges ("1-2") and empty nodes ("1.1") are left out: their parts are there.

    Raises:
        TreebankError: the file has another checksum.
    """
    return [
        (tuple(token["form"] for token in tokens), tuple(token["upos"] for token in tokens))
        for tokens in read_tokens(file, checksum)
    ]


def read_tokens(file: Path, checksum: str | None = None) -> Iterator[list[conllu.models.Token]]:
    """Read one CoNLL-U file with all its columns.

    Args:
        file: the file.
        checksum: the SHA-256 it must have; not checked if None.

    Yields:
        The words of each sentence, with what the file says of them: "form", "upos", "xpos", "feats", "head",
        "deprel".

    Raises:
        TreebankError: the file has another checksum.
    """
    content = file.read_bytes()
    if checksum:
        _verify(content, checksum, str(file))
    for tokens in conllu.parse_incr(io.StringIO(content.decode("utf-8"))):
        yield [token for token in tokens if isinstance(token["id"], int)]


@dataclass(frozen=True)
class Ambiguity:
    """How ambiguous the words of a treebank are, in shares of tokens from 0 to 1."""

    train_tokens: int
    test_tokens: int
    ambiguous_share: Fraction
    """Share of training tokens whose word, in lower case, occurs with two tags or more."""
    strong_words: frozenset[str]
    strong_share: Fraction
    """Share of test tokens whose word is strongly ambiguous."""
    lookup_on_test: Fraction
    """Accuracy on the test set of a lookup table made from the test set itself, capitals kept."""


def count_tags(sentences: Iterable[Sentence], *, lower: bool = False) -> dict[str, Counter[str]]:
    """Count the tags of every word.

    Args:
        sentences: tagged sentences.
        lower: count "Work" as "work".

    Returns:
        word -> tag -> count.

    >>> count_tags([(("I", "saw", "a", "saw"), ("PRON", "VERB", "DET", "NOUN"))])["saw"]
    Counter({'VERB': 1, 'NOUN': 1})
    """
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for words, tags in sentences:
        for word, tag in zip(words, tags, strict=True):
            counts[word.lower() if lower else word][tag] += 1
    return dict(counts)


def strongly_ambiguous(
    sentences: Iterable[Sentence], at_least: int = 5, minority: Fraction = Fraction(1, 10)
) -> frozenset[str]:
    """Collect the words for which a lookup is often wrong.

    Args:
        sentences: the training sentences.
        at_least: how often the word must occur.
        minority: the smallest share of its occurrences with any but its most frequent tag.

    Returns:
        The words, in lower case.

    >>> strongly_ambiguous([(("saw",) * 5, ("VERB",) * 4 + ("NOUN",))])
    frozenset({'saw'})
    """
    return frozenset(
        word
        for word, tags in count_tags(sentences, lower=True).items()
        if tags.total() >= at_least and tags.total() - max(tags.values()) >= minority * tags.total()
    )


def ambiguity(treebank: Treebank) -> Ambiguity:
    """Measure how much a tagger that sees one word can know.

    Args:
        treebank: the treebank.

    Returns:
        Counts and shares.

    >>> saw = ((("saw",) * 10, ("VERB",) * 9 + ("NOUN",)),)
    >>> ambiguity(Treebank(saw, (), saw)).lookup_on_test
    Fraction(9, 10)
    """
    train, test = (count_tags(part, lower=True) for part in (treebank.train, treebank.test))
    as_written = count_tags(treebank.test)
    strong = strongly_ambiguous(treebank.train)
    n_train, n_test = (sum(tags.total() for tags in counts.values()) for counts in (train, test))
    return Ambiguity(
        train_tokens=n_train,
        test_tokens=n_test,
        ambiguous_share=Fraction(sum(t.total() for t in train.values() if len(t) > 1), n_train),
        strong_words=strong,
        strong_share=Fraction(sum(t.total() for w, t in test.items() if w in strong), n_test),
        lookup_on_test=Fraction(sum(max(t.values()) for t in as_written.values()), n_test),
    )


def costliest(sentences: Sequence[Sentence], count: int) -> list[tuple[str, Counter[str]]]:
    """List the words that cost a lookup the most tokens.

    Args:
        sentences: tagged sentences.
        count: how many words.

    Returns:
        (word in lower case, its tags), the costliest first.

    >>> costliest([(("a", "to", "to"), ("DET", "ADP", "PART"))], 1)
    [('to', Counter({'ADP': 1, 'PART': 1}))]
    """
    counts = count_tags(sentences, lower=True).items()
    return sorted(counts, key=lambda item: (max(item[1].values()) - item[1].total(), item[0]))[:count]


def _verify(content: bytes, checksum: str, what: str) -> None:
    got = hashlib.sha256(content).hexdigest()
    if got != checksum:
        raise TreebankError(
            f"{what} is not the pinned release: its SHA-256 is {got}, it should be {checksum}. {WHAT_TO_DO}"
        )


def _download(name: str, folder: Path) -> None:
    """Fetch one file: whole, checked, and in place only then."""
    address = f"{SOURCE}/{name}"
    try:
        with urllib.request.urlopen(address, timeout=30) as response:
            content = response.read()
    except (OSError, http.client.HTTPException) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        raise TreebankError(f"{address} could not be downloaded ({reason}). {WHAT_TO_DO}") from error
    _verify(content, CHECKSUMS[name], address)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with written_whole(folder / name) as file:
            file.write(content)
    except OSError as error:
        raise TreebankError(
            f"{folder} cannot be written ({error}). Set ATTNLAB_CACHE to a folder that can."
        ) from error
