"""The texts of the baselines: citing contexts and papers as words, numbered by a vocabulary of the training period."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from cocite.corpus.csr import CSR
from cocite.corpus.history import History
from cocite.errors import InputError
from cocite.protocols import Query
from cocite.systems.baselines.filters import PADDING
from cocite.text.paragraph_reader import ParagraphReader, ParagraphSettings
from cocite.text.paragraphs import ABSTRACT, CONTEXT, GAP, SPECIAL, UNKNOWN, Paragraphs
from cocite.text.token_lists import spans

LINES = 20_000
"""Lines written at a time."""


@dataclass(frozen=True)
class CitingTexts:
    """The contexts of a history and the words of all papers.

    Attributes:
        history: whose contexts are read, and whose texts the vocabulary is made of.
        reader: numbers words; numbers below ``SPECIAL`` are not words.

    Example:
        >>> import tempfile
        >>> from cocite.corpus.builder import build
        >>> from cocite.corpus.synth import Synthetic
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     history = History.all(build(Synthetic(60, seed=1), folder + "/corpus"))
        ...     texts = CitingTexts.of(history, ParagraphSettings())
        >>> len(texts.papers), len(texts.contexts) == len(history.contexts)
        (60, True)
    """

    history: History
    reader: ParagraphReader

    @classmethod
    def of(cls, history: History, settings: ParagraphSettings) -> CitingTexts:
        """Make a vocabulary of a history's titles, abstracts and contexts.

        Raises:
            InputError: the history has no context to train on.
        """
        if not len(history.contexts):
            raise InputError(
                "no paper of the training period has a citation context", where=str(history.corpus.path)
            )
        return cls(history, ParagraphReader.build(history, settings, bodies=False))

    @cached_property
    def contexts(self) -> Paragraphs:
        """The words of the history's contexts, in the order of ``history.contexts``, with the gap as a word."""
        return self.reader.contexts(self.history.corpus, self.history.contexts)

    @cached_property
    def cited(self) -> CSR:
        """The papers that each of those contexts cites, the citing one left out."""
        corpus = self.history.corpus
        owner, rows = corpus.context_cited.gather(self.history.contexts)
        other = rows != self.citing[owner]
        return CSR.build(owner[other], rows[other], len(self.history.contexts))

    @cached_property
    def citing(self) -> NDArray[np.int32]:
        """(C,) the paper of each of those contexts."""
        return self.history.corpus.context_citing[self.history.contexts]

    @cached_property
    def papers(self) -> Paragraphs:
        """The words of each paper's title and abstract."""
        parts = []
        for batch in self.history.corpus.papers.table.select(["title", "abstract"]).to_batches():
            text = pc.binary_join_element_wise(
                batch["title"].fill_null(""), batch["abstract"].fill_null(""), " "
            )
            parts.append(only_words(self.reader.read(pa.array(text), ABSTRACT)))
        return Paragraphs.joined(parts)

    def of_queries(self, queries: Sequence[Query]) -> tuple[Paragraphs, Paragraphs]:
        """The words of the contexts of queries, with the gap as a word, and of their titles and abstracts.

        A query without a context is read by its title and abstract.
        """
        papers = [f"{query.title} {query.abstract}" for query in queries]
        texts = [query.context or paper for query, paper in zip(queries, papers, strict=True)]
        contexts = self.reader.read(pa.array(texts, pa.string()), CONTEXT)
        return contexts, only_words(self.reader.read(pa.array(papers, pa.string()), ABSTRACT))


def only_words(paragraphs: Paragraphs) -> Paragraphs:
    """The same without marks and unknown words.

    Example:
        >>> only_words(Paragraphs(np.array([0, 3]), np.array([0, 1, 5], np.int32))).tokens.tolist()
        [5]
    """
    words = paragraphs.tokens >= SPECIAL
    ends = np.concatenate([[0], np.cumsum(words, dtype=np.int64)])
    return Paragraphs(ends[paragraphs.indptr], paragraphs.tokens[words])


def nearest_words(paragraphs: Paragraphs, limit: int) -> Paragraphs:
    """At most ``limit`` words in the middle of each paragraph, where the reader puts the gap of a context.

    Example:
        >>> nearest_words(Paragraphs(np.array([0, 4]), np.array([3, 4, 5, 6], np.int32)), 2).tokens.tolist()
        [4, 5]
    """
    counts = np.minimum(paragraphs.lengths, limit)
    starts = paragraphs.indptr[:-1] + (paragraphs.lengths - counts) // 2
    return Paragraphs(np.concatenate([[0], np.cumsum(counts)]), paragraphs.tokens[spans(starts, counts)])


def words_around_gap(paragraphs: Paragraphs, limit: int) -> tuple[Paragraphs, NDArray[np.int64]]:
    """At most ``limit`` words around the first gap of each context, and (P,) the gap's place among them.

    A context without a gap is read around its middle, which counts as the gap's place.

    Example:
        >>> near, gaps = words_around_gap(Paragraphs(np.array([0, 5]), np.array([3, GAP, 5, 6, 7], np.int32)), 3)
        >>> near.tokens.tolist(), gaps.tolist()
        ([3, 1, 5], [1])
    """
    places = paragraphs.lengths // 2
    gaps = np.flatnonzero(paragraphs.tokens == GAP)[::-1]
    owner = np.searchsorted(paragraphs.indptr, gaps, side="right") - 1
    places[owner] = gaps - paragraphs.indptr[owner]  # of several gaps the first, which is written last
    counts = np.minimum(paragraphs.lengths, limit)
    first = np.clip(places - limit // 2, 0, paragraphs.lengths - counts)
    tokens = paragraphs.tokens[spans(paragraphs.indptr[:-1] + first, counts)]
    return Paragraphs(np.concatenate([[0], np.cumsum(counts)]), tokens), places - first


def around_gaps(contexts: Paragraphs, limit: int) -> tuple[Tensor, Tensor]:
    """(n, t) what :func:`words_around_gap` gives, as :func:`padded` has it, and (n,) the places of the gaps.

    Example:
        >>> words, gaps = around_gaps(Paragraphs(np.array([0, 5]), np.array([3, GAP, 5, 6, 7], np.int32)), 3)
        >>> words.tolist(), gaps.tolist()
        ([[3, 1, 5]], [1])
    """
    near, gaps = words_around_gap(contexts, limit)
    return torch.from_numpy(padded(near)), torch.from_numpy(gaps)


def first_words(paragraphs: Paragraphs, limit: int) -> Paragraphs:
    """At most ``limit`` words at the beginning of each paragraph.

    Example:
        >>> first_words(Paragraphs(np.array([0, 3, 4]), np.array([3, 4, 5, 6], np.int32)), 2).tokens.tolist()
        [3, 4, 6]
    """
    counts = np.minimum(paragraphs.lengths, limit)
    tokens = paragraphs.tokens[spans(paragraphs.indptr[:-1], counts)]
    return Paragraphs(np.concatenate([[0], np.cumsum(counts)]), tokens)


def padded(paragraphs: Paragraphs) -> NDArray[np.int64]:
    """(P, longest) word numbers, ``PADDING`` behind the end; an empty paragraph is one unknown word.

    Example:
        >>> padded(Paragraphs(np.array([0, 2, 2]), np.array([3, 4], np.int32))).tolist()
        [[3, 4], [0, -1]]
    """
    numbers = paragraphs.rectangle(np.arange(len(paragraphs))).astype(np.int64)
    if not numbers.shape[1]:
        return np.full((len(paragraphs), 1), UNKNOWN, np.int64)
    # The rectangle is padded with UNKNOWN, so that the first word of an empty paragraph is unknown already.
    numbers[np.arange(numbers.shape[1]) >= np.maximum(paragraphs.lengths, 1)[:, None]] = PADDING
    return numbers


def joined_pairs(left: Paragraphs, right: Paragraphs) -> Paragraphs:
    """Each paragraph with that of the other behind it.

    Example:
        >>> one, two = (Paragraphs(np.array([0, 1, 2]), np.array(words, np.int32)) for words in ([3, 4], [5, 6]))
        >>> joined_pairs(one, two).tokens.tolist()
        [3, 5, 4, 6]
    """
    both = Paragraphs.joined([left, right])
    order = np.arange(2 * len(left)).reshape(2, -1).T.ravel()
    joined = both.take(order)
    return Paragraphs(joined.indptr[::2], joined.tokens)


def require_frequent(paragraphs: Paragraphs, least: int, setting: str) -> None:
    """Refuse texts of which no word has the frequency that a vector needs.

    Raises:
        InputError: each word stands in them fewer times.

    Example:
        >>> require_frequent(Paragraphs(np.array([0, 2]), np.array([3, 4], np.int32)), 2, "w2v.min_count")
        Traceback (most recent call last):
        ...
        cocite.errors.InputError: w2v.min_count: no word stands 2 times in the texts of the training period
    """
    if not (np.bincount(paragraphs.tokens, minlength=1) >= least).any():
        raise InputError(f"no word stands {least} times in the texts of the training period", where=setting)


def mean_vectors(paragraphs: Paragraphs, words: NDArray[np.float32]) -> NDArray[np.float32]:
    """(P, d) the mean of each paragraph's word vectors (W, d); 0 where there is no word.

    Example:
        >>> paragraphs = Paragraphs(np.array([0, 2, 2]), np.array([0, 1], np.int32))
        >>> mean_vectors(paragraphs, np.array([[1.0], [2.0]], np.float32)).tolist()
        [[1.5], [0.0]]
    """
    return (
        functional.embedding_bag(
            torch.from_numpy(paragraphs.tokens.astype(np.int64)),
            torch.from_numpy(words),
            torch.from_numpy(paragraphs.indptr[:-1].astype(np.int64)),
            mode="mean",
        )
        .numpy()
        .astype(np.float32, copy=False)
    )


def with_citations(texts: CitingTexts) -> Paragraphs:
    """Contexts with the cited papers as words in place of the gap: paper ``row`` has the number ``reader.size + row``.

    Unknown words and other marks are left out, and so are the papers that a context without a gap cites.
    """
    contexts, cited = texts.contexts, texts.cited
    owner = np.repeat(np.arange(len(contexts)), contexts.lengths)
    is_gap = contexts.tokens == GAP
    read = is_gap | (contexts.tokens >= SPECIAL)
    owner, is_gap, tokens = owner[read], is_gap[read], contexts.tokens[read]
    counts = np.where(is_gap, cited.degrees[owner], 1).astype(np.int64)
    result = np.repeat(tokens, counts)
    gaps = np.flatnonzero(is_gap)
    starts = np.cumsum(counts) - counts
    targets = spans(starts[gaps], counts[gaps])
    sources = spans(np.asarray(cited.indptr)[owner[gaps]], counts[gaps])
    result[targets] = texts.reader.size + cited.indices[sources]
    lengths = np.bincount(owner, counts, minlength=len(contexts)).astype(np.int64)
    return Paragraphs(np.concatenate([[0], np.cumsum(lengths)]), result)


@contextmanager
def line_file(paragraphs: Paragraphs) -> Iterator[Path]:
    """A temporary text file for gensim with a line for each paragraph: its numbers, separated by blanks.

    Example:
        >>> with line_file(Paragraphs(np.array([0, 2, 3]), np.array([7, 8, 9], np.int32))) as path:
        ...     path.read_text()
        '7 8\\n9\\n'
    """
    with TemporaryDirectory() as folder:
        path = Path(folder) / "lines.txt"
        names = np.array([str(i) for i in range(int(paragraphs.tokens.max(initial=0)) + 1)], object)
        with path.open("w", encoding="ascii") as file:
            for start in range(0, len(paragraphs), LINES):
                bounds = paragraphs.indptr[start : start + LINES + 1]
                words = names[paragraphs.tokens[bounds[0] : bounds[-1]]].tolist()
                positions = (bounds - bounds[0]).tolist()
                file.writelines(" ".join(words[a:b]) + "\n" for a, b in itertools.pairwise(positions))
        yield path
