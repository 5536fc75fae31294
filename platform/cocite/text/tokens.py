"""Words for lexical matching: lower case, two letters or more, without stop words."""

from __future__ import annotations

import importlib
import re
from array import array
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cocite.errors import InputError, nearest

_WORD = re.compile(r"\w\w+")

_LUCENE = (
    "a an and are as at be but by for if in into is it no not of on or such that the their then there these they this "
    "to was will with"
)
STOP_WORDS: dict[str, frozenset[str]] = {
    "english": frozenset(_LUCENE.split()),
    "none": frozenset(),
}
"""Stop words by name. ``english`` is the short list that Lucene uses."""


@cache
def _stemmer(language: str) -> Callable[[str], str]:
    try:
        library: Any = importlib.import_module("Stemmer")
    except ImportError as error:
        raise InputError(
            f"stemming for {language!r} needs PyStemmer", hint="pip install PyStemmer"
        ) from error
    if language not in library.algorithms():
        raise InputError(f"unknown stemmer {language!r}", hint=nearest(language, library.algorithms()))
    stem: Callable[[str], str] = library.Stemmer(language).stemWord
    return stem


class WordTokenizer:
    """Splits texts into words. It has no vocabulary of its own, so any number of threads may share it.

    Args:
        stopwords: a name in :data:`STOP_WORDS`.
        stemmer: a Snowball language, such as ``english`` (needs PyStemmer); None leaves words as they are.

    Raises:
        InputError: stop words or stemmer are unknown, or PyStemmer is not installed.

    Example:
        >>> tokenizer, vocabulary = WordTokenizer(), {}
        >>> tokenizer.words("The parser of a tree")
        ['parser', 'tree']
        >>> tokenizer.learn(["parser of trees", "trees"], vocabulary)[0].tolist(), vocabulary
        ([0, 1, 1], {'parser': 0, 'trees': 1})
    """

    def __init__(self, stopwords: str = "english", stemmer: str | None = None) -> None:
        if stopwords not in STOP_WORDS:
            raise InputError(f"unknown stop words {stopwords!r}", hint=nearest(stopwords, STOP_WORDS))
        self.stopwords = stopwords
        self.stemmer = stemmer
        self._stop = STOP_WORDS[stopwords]
        self._stem = _stemmer(stemmer) if stemmer else None

    def words(self, text: str) -> list[str]:
        """The words of one text, in order, repeated as often as they occur."""
        words = [word for word in _WORD.findall(text.lower()) if word not in self._stop]
        return words if self._stem is None else [self._stem(word) for word in words]

    def learn(
        self, texts: Iterable[str], vocabulary: dict[str, int]
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """The word numbers of many texts; unknown words are added to ``vocabulary`` in order of appearance.

        Returns:
            ``(numbers, indptr)``: the words of text ``i`` are ``numbers[indptr[i] : indptr[i + 1]]``.
        """
        numbers, ends = array("i"), array("q", [0])
        for text in texts:
            numbers.extend([vocabulary.setdefault(word, len(vocabulary)) for word in self.words(text)])
            ends.append(len(numbers))
        return np.frombuffer(numbers, np.int32), np.frombuffer(ends, np.int64)

    def lookup(
        self, texts: Sequence[str], vocabulary: dict[str, int]
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """The word numbers of many texts, as :meth:`learn` gives them, but without words that the vocabulary lacks."""
        numbers, ends = array("i"), array("q", [0])
        for text in texts:
            numbers.extend([vocabulary[word] for word in self.words(text) if word in vocabulary])
            ends.append(len(numbers))
        return np.frombuffer(numbers, np.int32), np.frombuffer(ends, np.int64)
