"""Words for lexical matching: lower case, two letters or more, without stop words."""

from __future__ import annotations

import importlib
import re
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cocite.errors import InputError, nearest

_WORD = re.compile(r"\w\w+")
_BETWEEN = r"[^\p{L}\p{N}_]+"
"""What lies between words, in the syntax of RE2, whose ``\\w`` is of ASCII alone."""
BATCH = 8192
"""Texts split at a time."""
SPLITTERS = 2
"""Threads that split batches by default; one more batch than threads is held."""

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


class _Split(NamedTuple):
    """A batch of texts in words: text i is ``words[code]`` for each code of ``codes[ends[i] : ends[i + 1]]``."""

    words: list[str]
    codes: NDArray[np.int32]
    ends: NDArray[np.int64]


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
        self, texts: Iterable[str], vocabulary: dict[str, int], *, threads: int = SPLITTERS
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """The word numbers of many texts; unknown words are added to ``vocabulary`` in order of appearance.

        Args:
            texts: to split.
            vocabulary: word -> number.
            threads: that split texts beside this one; 0: this one does.

        Returns:
            ``(numbers, indptr)``: the words of text ``i`` are ``numbers[indptr[i] : indptr[i + 1]]``.
        """
        numbers, counts = [np.zeros(0, np.int32)], [np.zeros(1, np.int64)]
        for part in _in_order(self._split, batched(texts, BATCH), threads):
            number = np.array([self._number(word, vocabulary) for word in part.words], np.int32)
            of_word = number[part.codes]
            kept = of_word >= 0
            numbers.append(of_word[kept])
            counts.append(np.diff(np.concatenate([[0], np.cumsum(kept)])[part.ends]))
        return np.concatenate(numbers), np.cumsum(np.concatenate(counts))

    def _number(self, word: str, vocabulary: dict[str, int]) -> int:
        """The number of a word, which the vocabulary learns; -1 for one that is left out."""
        if len(word) < 2 or word in self._stop:
            return -1
        return vocabulary.setdefault(word if self._stem is None else self._stem(word), len(vocabulary))

    @staticmethod
    def _split(texts: Sequence[str]) -> _Split:
        """Split texts by Arrow, which does not hold the interpreter's lock while it does."""
        lists = pc.split_pattern_regex(pa.array([text.lower() for text in texts], pa.string()), _BETWEEN)
        codes = pc.dictionary_encode(pc.list_flatten(lists))
        ends = np.concatenate([[0], np.cumsum(pc.list_value_length(lists).to_numpy())])
        return _Split(codes.dictionary.to_pylist(), codes.indices.to_numpy(), ends)

    def lookup(
        self, texts: Sequence[str], vocabulary: dict[str, int]
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """The word numbers of many texts, as :meth:`learn` gives them, but without words that the vocabulary lacks."""
        numbers, ends = array("i"), array("q", [0])
        for text in texts:
            numbers.extend([vocabulary[word] for word in self.words(text) if word in vocabulary])
            ends.append(len(numbers))
        return np.frombuffer(numbers, np.int32), np.frombuffer(ends, np.int64)


def batched(texts: Iterable[str], size: int) -> Iterator[list[str]]:
    """Lists of ``size`` texts, the last one shorter.

    Example:
        >>> list(batched("abcde", 2))
        [['a', 'b'], ['c', 'd'], ['e']]
    """
    rest = iter(texts)
    while batch := list(islice(rest, size)):
        yield batch


def _in_order(
    function: Callable[[list[str]], _Split], batches: Iterator[list[str]], threads: int
) -> Iterator[_Split]:
    """The function's results in order; only so many batches wait as keep the threads at work."""
    if not threads:
        yield from map(function, batches)
        return
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[_Split]] = deque(
            pool.submit(function, batch) for batch in islice(batches, threads + 1)
        )
        while waiting:
            yield waiting.popleft().result()
            waiting.extend(pool.submit(function, batch) for batch in islice(batches, 1))
