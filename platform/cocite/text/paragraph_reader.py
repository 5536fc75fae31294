"""Cuts titles, abstracts and citation contexts into numbered words: what HAtten and the baselines read.

Unlike the bags of :mod:`cocite.text.fields` the words keep their order and their repetitions, and the gap of a
context is a word of its own.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pydantic import Field

from cocite.bounds import TextLength, Total
from cocite.config import Settings
from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.protocols import Query
from cocite.text.paragraphs import ABSTRACT, CONTEXT, GAP, KINDS, OTHER, SPECIAL, TITLE, UNKNOWN, Paragraphs
from cocite.text.tokens import STOP_WORDS
from cocite.text.vocabulary import Vocabulary, words
from cocite.text.word_counts import count_words

_GAP, _OTHER = "thisgapmark", "othercitationmark"
"""Spelling of the marks while a text is cut into words: all letters, lower case, and no word of any language."""


class ParagraphSettings(Settings):
    """How texts are cut into numbered words.

    Example:
        >>> ParagraphSettings(max_context=60).limit(CONTEXT)
        60
    """

    vocabulary_size: Total = 60_000
    """Most words of the vocabulary: those in the most texts of the training period."""
    least: Total = 2
    """Texts in which a word of the vocabulary must occur: titles with abstracts, contexts, body sentences if read."""
    buckets: int = Field(0, ge=0, le=10_000_000)
    """Numbers that unknown words share, chosen by their spelling; 0: all unknown words have one number."""
    stop_words: bool = True
    """Whether stop words are read."""
    marks: bool = True
    """Whether the gap and other citations are read as words of their own, or left out."""
    max_title: TextLength = 40
    """Words read of a title."""
    max_abstract: TextLength = 250
    """Words read of an abstract."""
    max_context: TextLength = 120
    """Words read of a context: those around the gap."""

    def limit(self, kind: int) -> int:
        """Words read of a paragraph of a type."""
        return (self.max_title, self.max_abstract, self.max_context)[kind]


def cut(texts: pa.Array, *, marks: bool = True) -> pa.ListArray:
    """The words of each text in order, with its citation marks as words of their own, or without them.

    Example:
        >>> cut(pa.array(["As in [CIT]."]), marks=False).to_pylist()
        [['as', 'in', '']]
    """
    texts = texts.fill_null("")
    if marks:
        texts = pc.replace_substring_regex(texts, pattern=r"TARGETCIT|\[CIT\]", replacement=f" {_GAP} ")
        texts = pc.replace_substring_regex(
            texts, pattern=r"OTHERCIT|\[OTHERCIT\]|\[\[CIT:[0-9]+\]\]", replacement=f" {_OTHER} "
        )
    return words(texts)


def _fill_empty(paragraphs: Paragraphs) -> Paragraphs:
    """The same with one unknown word in each empty paragraph, so that every document has a paragraph to attend to."""
    lengths = paragraphs.lengths
    before = paragraphs.indptr[:-1][lengths == 0]
    lengths = np.maximum(lengths, 1)
    tokens = np.insert(paragraphs.tokens, before, UNKNOWN)
    return Paragraphs(np.concatenate([[0], np.cumsum(lengths)]), tokens)


class ParagraphReader:
    """Numbers the words of texts; a title without a known word becomes one unknown word.

    Word numbers: ``UNKNOWN``, ``GAP``, ``OTHER``; then the vocabulary; then ``buckets`` for unknown words.

    Args:
        settings: limits.
        vocabulary: the known words.

    Example:
        >>> reader = ParagraphReader(ParagraphSettings(), Vocabulary(["parsing", "trees"], np.array([9, 4])))
        >>> reader.queries([Query("q", context="As in [CIT], parsing trees")])[CONTEXT].tokens.tolist()
        [0, 0, 1, 3, 4]
    """

    def __init__(self, settings: ParagraphSettings, vocabulary: Vocabulary) -> None:
        self.settings, self.vocabulary = settings, vocabulary
        number = np.arange(len(vocabulary) + 1, dtype=np.int32) + SPECIAL
        if not settings.stop_words:
            stop = [word in STOP_WORDS["english"] for word in vocabulary.types]
            number[:-1][np.array(stop, bool)] = -1
        number[-1] = UNKNOWN  # Vocabulary.numbers gives -1 for an unknown word, which indexes the last
        self._number = number

    @classmethod
    def build(
        cls,
        history: History,
        settings: ParagraphSettings,
        *,
        bodies: bool,
        advance: Callable[[int], object] = lambda _: None,
    ) -> ParagraphReader:
        """Make a reader whose vocabulary is that of a history's papers, never of later ones.

        Args:
            history: whose papers are read.
            settings: limits.
            bodies: whether words of bodies are counted.
            advance: see :func:`~cocite.text.word_counts.count_words`.
        """
        counts = count_words(history, bodies=bodies, advance=advance)
        return cls(settings, counts.vocabulary(size=settings.vocabulary_size, least=settings.least))

    @property
    def size(self) -> int:
        """Number of word numbers."""
        return SPECIAL + len(self.vocabulary) + self.settings.buckets

    def read(self, texts: pa.Array, kind: int) -> Paragraphs:
        """Read texts as paragraphs of one type (a number, see :data:`~cocite.text.paragraphs.KINDS`)."""
        lists = cut(texts, marks=self.settings.marks and kind == CONTEXT)
        owner = np.repeat(np.arange(len(lists)), lists.value_lengths().fill_null(0).to_numpy())
        tokens = self._numbers(lists.flatten())
        keep = tokens >= 0
        owner, tokens = owner[keep], tokens[keep]
        limit = self.settings.limit(kind)
        ends = np.searchsorted(owner, np.arange(len(lists) + 1))
        lengths = np.diff(ends)
        if len(lengths) and lengths.max() > limit:
            first = np.zeros(len(lists), np.int64)
            if kind == CONTEXT:
                # The words kept begin half the limit before the first gap, or earlier if the text ends sooner.
                gaps = np.flatnonzero(tokens == GAP)[::-1]
                first[owner[gaps]] = gaps - ends[owner[gaps]] - limit // 2
                first = np.clip(first, 0, np.maximum(lengths - limit, 0))
            position = np.arange(len(tokens)) - ends[owner] - first[owner]
            keep = (position >= 0) & (position < limit)
            owner, tokens = owner[keep], tokens[keep]
            ends = np.searchsorted(owner, np.arange(len(lists) + 1))
        paragraphs = Paragraphs(ends.astype(np.int64), tokens)
        return _fill_empty(paragraphs) if kind == TITLE else paragraphs

    def _numbers(self, flat: pa.Array) -> NDArray[np.int32]:
        """(T,) the number of each word; -1 for the empty string, and for stop words that are not read."""
        tokens = self._number[self.vocabulary.numbers(flat)]
        unknown = np.flatnonzero(tokens == UNKNOWN)
        if not len(unknown):
            return tokens
        coded = pc.dictionary_encode(flat.take(pa.array(unknown)))
        known = {"": -1, _GAP: GAP, _OTHER: OTHER}
        base, buckets = SPECIAL + len(self.vocabulary), self.settings.buckets
        numbers = [
            known.get(word, base + zlib.crc32(word.encode()) % buckets if buckets else UNKNOWN)
            for word in coded.dictionary.to_pylist()
        ]
        tokens[unknown] = np.array(numbers, np.int32)[coded.indices.to_numpy(zero_copy_only=False)]
        return tokens

    def papers(self, corpus: Corpus, rows: NDArray[np.integer[Any]] | None = None) -> list[Paragraphs]:
        """Titles and abstracts of all papers of a corpus, or of some rows."""
        papers = corpus.papers
        columns = [
            papers.table.column(KINDS[kind]) if rows is None else papers.taken(KINDS[kind], rows)
            for kind in (TITLE, ABSTRACT)
        ]
        return [
            Paragraphs.joined(self.read(chunk, kind) for chunk in column.chunks)
            for kind, column in zip((TITLE, ABSTRACT), columns, strict=True)
        ]

    def contexts(self, corpus: Corpus, positions: NDArray[np.int64]) -> Paragraphs:
        """The contexts of a corpus at some positions."""
        column = corpus.contexts.taken("text", positions)
        return Paragraphs.joined(self.read(chunk, CONTEXT) for chunk in column.chunks)

    def queries(self, queries: Sequence[Query]) -> list[Paragraphs]:
        """Titles, abstracts and contexts of queries; an absent text is an empty paragraph, a title one unknown word."""
        return [
            self.read(pa.array([getattr(query, kind) for query in queries], pa.string()), number)
            for number, kind in enumerate(KINDS)
        ]

    def save(self, folder: Path) -> None:
        """Write the vocabulary, ``words.txt``."""
        self.vocabulary.save(folder / "words.txt")

    @classmethod
    def load(cls, folder: Path, settings: ParagraphSettings) -> ParagraphReader:
        """Load the reader that :meth:`save` wrote, with the same settings."""
        return cls(settings, Vocabulary.load(folder / "words.txt"))
