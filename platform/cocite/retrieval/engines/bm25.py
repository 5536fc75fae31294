"""BM25 over any list of texts.

The weight of a word in a document does not depend on the query (:mod:`~cocite.retrieval.engines.bm25_weights` has the
formula), and the score is the sum of the weights of the query's words, each as often as the query has it. The weights
lie in inverted lists, for the best documents of a query (:meth:`Bm25Index.best`) and for the scores of all of them;
the word counts of each document give the exact scores of chosen documents (:meth:`Bm25Index.scores_at`), however many
texts of a query ask for them. Documents can be appended, selected and grouped without splitting their text into words
again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from cocite.errors import InputError
from cocite.protocols import Ranking
from cocite.retrieval.engines import matrices
from cocite.retrieval.engines.bm25_weights import TermWeighting, extended_idf
from cocite.retrieval.engines.inverted_lists import UNLIMITED, Best, InvertedLists, TextCounts
from cocite.retrieval.engines.packed_counts import FieldCounts, PackedCounts
from cocite.retrieval.engines.query_words import Omission, QueryWords
from cocite.retrieval.engines.scratch import SCRATCH
from cocite.retrieval.engines.word_statistics import WordStatistics
from cocite.text.tokens import WordTokenizer

CELLS = 320_000
"""Scores computed at a time, where that makes 8 to 64 queries: 1.3 MB, which a core's own cache holds."""


GROUPS = 1 << 16
"""Groups of documents whose words are added up at a time: sums and products take three times the memory of the
result."""
_NOTHING = Omission(np.zeros((0, 0), np.float32), np.zeros(0, np.float32))


class Bm25Index:
    """A BM25 index of N documents; immutable, so that threads can share it.

    Attributes:
        vocabulary: word -> column; indexes of one group share it.
        counts: (N, V) how often each word occurs in each document.
        idf: (V,) inverse document frequencies.
        mean_length: mean number of words of a document, as of the last full build.
        lists: the weights of words in documents, by word.

    Example:
        >>> index = Bm25Index.build(["chart parsing with CKY", "neural translation", "parsing with a neural network"])
        >>> index.search(["neural parsing"], 2).rows
        array([[2, 1]], dtype=int32)
        >>> [word for word, weight in index.shared_terms("neural parsing", [2])[0]]
        ['parsing', 'neural']
        >>> index.append(["statistical translation"]).search(["statistical"], 1).rows
        array([[3]], dtype=int32)
    """

    def __init__(
        self,
        tokenizer: WordTokenizer,
        vocabulary: dict[str, int],
        counts: sp.csr_matrix | FieldCounts,
        idf: NDArray[np.float64],
        mean_length: float,
        *,
        k1: float,
        b: float,
        lists: InvertedLists | Callable[[], InvertedLists] | None = None,
    ) -> None:
        self.tokenizer, self.vocabulary = tokenizer, vocabulary
        self.counts = counts if isinstance(counts, FieldCounts) else FieldCounts.of(counts)
        self.idf, self.mean_length, self.k1, self.b = matrices.read_only(idf), mean_length, k1, b
        self._weighting = TermWeighting(idf, mean_length, k1, b)
        self._make_lists: Callable[[], InvertedLists] | None = None
        if isinstance(lists, InvertedLists):
            self.lists = lists
        else:
            self._make_lists = lists

    @property
    def has_lists(self) -> bool:
        """Whether there are lists, or others from which they are made faster than from the counts."""
        return "lists" in vars(self) or self._make_lists is not None

    @property
    def lengths(self) -> NDArray[np.int32]:
        """(N,) number of words of each document."""
        return self.counts.lengths

    @cached_property
    def lists(self) -> InvertedLists:
        """Computed on first use: some indexes only serve to derive others from, or to score chosen documents."""
        return self.make_lists()

    def make_lists(self) -> InvertedLists:
        """The present lists, or what they would be; for a caller who needs them once."""
        if "lists" in vars(self):
            return self.lists
        if self._make_lists is not None:
            return self._make_lists()
        return InvertedLists.of(self._weighting.weigh(self.counts))

    # -- building ---------------------------------------------------------------------------------------------

    @classmethod
    def build(
        cls,
        texts: Iterable[str],
        *,
        k1: float = 1.2,
        b: float = 0.75,
        stopwords: str = "english",
        stemmer: str | None = None,
    ) -> Bm25Index:
        """Index texts, read once from first to last; document i is the i-th.

        Args:
            texts: the documents.
            k1, b: parameters of the formula.
            stopwords: a list of :data:`cocite.text.tokens.STOP_WORDS`.
            stemmer: name of a stemmer; None for none.

        Raises:
            InputError: a parameter is out of bounds, or a name is unknown.
        """
        if k1 < 0 or not 0 <= b <= 1:
            raise InputError(f"k1 = {k1} and b = {b} are not BM25 parameters", hint="k1 >= 0 and 0 <= b <= 1")
        tokenizer, vocabulary = WordTokenizer(stopwords, stemmer), dict[str, int]()
        counts = matrices.counted(*tokenizer.learn(texts, vocabulary), columns=len(vocabulary))
        return cls.of_counts(tokenizer, vocabulary, counts, k1, b)

    @classmethod
    def of_counts(
        cls,
        tokenizer: WordTokenizer,
        vocabulary: dict[str, int],
        counts: sp.csr_matrix | FieldCounts,
        k1: float,
        b: float,
    ) -> Bm25Index:
        """An index of documents given by their word counts (N, V), with exact statistics."""
        counts = counts if isinstance(counts, FieldCounts) else FieldCounts.of(counts)
        statistics = WordStatistics.of_packed(counts)
        return cls(tokenizer, vocabulary, counts, statistics.idf, float(statistics.mean_length), k1=k1, b=b)

    def append(self, texts: Iterable[str]) -> Bm25Index:
        """A new index with more documents behind the present ones, whose text is not needed.

        The corpus statistics stay those of the last full build: the idf of known words and the mean length are
        kept, so that old documents keep their scores to the bit; a new word gets the formula's idf over all
        documents there are now. After many additions, :meth:`build`, or :meth:`select` of all, makes them exact again.
        """
        vocabulary = dict(self.vocabulary)
        numbers, indptr = self.tokenizer.learn(texts, vocabulary)
        return self.append_counts(vocabulary, matrices.counted(numbers, indptr, columns=len(vocabulary)))

    def append_counts(
        self, vocabulary: dict[str, int], new: sp.csr_matrix, idf: NDArray[np.float64] | None = None
    ) -> Bm25Index:
        """As :meth:`append`, of documents given by their word counts.

        Args:
            vocabulary: this index' words, and behind them the new ones.
            new: (m, V) the counts, a column for each word.
            idf: (V,) of known and new words, where these documents are a part of all that the idf is of.
        """
        if idf is None:
            holding = np.bincount(new.indices, minlength=new.shape[1])
            idf = extended_idf(self.idf, holding, len(self) + new.shape[0])

        def merged() -> InvertedLists:
            return self.lists.followed_by(self.like(vocabulary, new, idf).lists)

        # Merging is far quicker than sorting all lists again; lists that nobody has asked for are not made.
        lists = merged if self.has_lists else None
        return self.like(vocabulary, self.counts.followed_by(new), idf, lists=lists)

    def like(
        self,
        vocabulary: dict[str, int],
        counts: sp.csr_matrix | FieldCounts,
        idf: NDArray[np.float64],
        *,
        lists: Callable[[], InvertedLists] | None = None,
    ) -> Bm25Index:
        """An index of other documents with this one's tokenizer, mean length, k1 and b."""
        return Bm25Index(
            self.tokenizer,
            vocabulary,
            counts,
            idf,
            self.mean_length,
            k1=self.k1,
            b=self.b,
            lists=lists,
        )

    def select(self, documents: ArrayLike) -> Bm25Index:
        """An index of some documents alone, with exact statistics of its own; no text is split again.

        Equal to :meth:`build` on their texts, but for words that none of them holds, which never score.
        """
        counts = self.counts.take(np.asarray(documents))
        return self.of_counts(self.tokenizer, self.vocabulary, counts, self.k1, self.b)

    def grouped(self, documents: ArrayLike, groups: ArrayLike, count: int) -> Bm25Index:
        """An index of ``count`` groups of documents, each scored as one long text; with exact statistics of its own.

        Args:
            documents: members, by pairs with ``groups``; a document may be in several groups, or in none.
            groups: the group of each member.
            count: how many groups there are.
        """
        members = np.asarray(documents, np.int64)
        cells = (np.asarray(groups, np.int64), members)
        membership = sp.csr_matrix((np.ones(len(members), np.int32), cells), shape=(count, len(self)))
        sums = (self.counts.sums(membership[first : first + GROUPS]) for first in range(0, count, GROUPS))
        counts = PackedCounts.of(((of_groups, None) for of_groups in sums), self.counts.shape[1]).outer
        return self.of_counts(self.tokenizer, self.vocabulary, counts, self.k1, self.b)

    def __len__(self) -> int:
        return self.counts.shape[0]

    # -- scoring --------------------------------------------------------------------------------------------

    def scores(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """(Q, N) scores of every document; 0 where no word is shared.

        A query's scores do not depend on which others share its block.
        """
        return self.lists.dense(self.count(texts))

    def count(self, texts: Sequence[str]) -> TextCounts:
        """The known words of some texts, for all indexes that share this one's vocabulary."""
        return TextCounts.of(*self.tokenizer.lookup(texts, self.vocabulary), len(self.vocabulary))

    def blocks(self, texts: Sequence[str]) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """The dense scores in blocks of bounded size: ``(first query, (q, N) scores)``."""
        step = int(np.clip(CELLS // max(len(self), 1), 8, 64))
        for start in range(0, len(texts), step):
            yield start, self.scores(texts[start : start + step])

    def search(self, texts: Sequence[str], k: int) -> Ranking:
        """The ``k`` best documents of each query; equal scores in order of the document."""
        parts = [Ranking.best(block, k) for _, block in self.blocks(texts)]
        if not parts:
            width = min(k, len(self))
            return Ranking(np.empty((0, width), np.int32), np.empty((0, width), np.float32))
        return Ranking(np.concatenate([p.rows for p in parts]), np.concatenate([p.scores for p in parts]))

    def at(self, texts: Sequence[str], rows: ArrayLike) -> NDArray[np.float32]:
        """(Q, k) scores of given candidates (Q, k) alone; 0 at ``NO_ROW``."""
        rows = np.asarray(rows, np.int64)
        result = np.zeros(rows.shape, np.float32)
        for i, text in enumerate(texts):
            result[i] = self.scores_at(self.query_words([text]), rows[i])[0]
        return result

    def query_words(self, texts: Sequence[str]) -> QueryWords:
        """The known words of some texts, for indexes that share this one's vocabulary."""
        return QueryWords.of(self.count(texts))

    def best(
        self,
        asked: QueryWords,
        text: int,
        k: int,
        *,
        budget: int = UNLIMITED,
        forbidden: NDArray[Any] | None = None,
        allowed: NDArray[np.bool_] | None = None,
    ) -> Best:
        """The ``k`` best documents for one of the texts; see :meth:`InvertedLists.best` for the other arguments.

        Args:
            asked: what :meth:`query_words` gave.
            text: position of the text among them.
            k: how many documents.
        """
        has = np.flatnonzero(asked.times[text])
        return self.lists.best(
            asked.words[has], asked.times[text, has], k, budget=budget, forbidden=forbidden, allowed=allowed
        )

    def scores_at(
        self, asked: QueryWords, rows: NDArray[Any], without: Omission | None = None
    ) -> NDArray[np.float32]:
        """(F, n) the exact scores of some documents (n,) for each of the texts; 0 at ``NO_ROW``.

        Args:
            asked: what :meth:`query_words` gave.
            rows: the documents.
            without: words that each of them is scored without.
        """
        from cocite.retrieval.engines import document_kernels  # Numba takes half a second to import

        rows = np.ascontiguousarray(rows, np.int64)
        less, shorter = without or _NOTHING
        scores = np.zeros((len(asked.times), len(rows)), np.float32)
        if not (len(rows) and len(asked.words)):
            return scores
        words = self.counts.shape[1]
        slots = SCRATCH.take("slots", words, np.int32, 0)
        present = SCRATCH.take("present", words // 64 + 1, np.uint64, 0)
        try:
            document_kernels.score_documents(
                *self.counts.arrays,
                *(self.idf, float(self.mean_length), float(self.k1), float(self.b)),
                *(
                    rows,
                    less,
                    shorter,
                    asked.words,
                    np.ascontiguousarray(asked.times.T),
                    slots,
                    present,
                    scores,
                ),
            )
        except BaseException:
            SCRATCH.drop("present")
            raise
        return scores

    def shared_terms(
        self, text: str, rows: Sequence[int], limit: int = 10, ignore: Collection[str] = ()
    ) -> list[list[tuple[str, float]]]:
        """For each document, the words that it shares with a query and what each adds to the score, heaviest first.

        Args:
            text: the query.
            rows: the documents.
            limit: the most words of a document.
            ignore: words to leave out.
        """
        names = {number: word for word, number in self._split(text) if word not in ignore}
        query = self.count([text])
        chosen = np.asarray(rows, np.int64)
        held = self.counts.rows(chosen)
        shared = np.isin(held.indices, np.fromiter(names, np.int64, len(names)))
        owner = np.repeat(np.arange(len(chosen)), np.diff(held.indptr))[shared]
        words = held.indices[shared]
        times = query.times[np.searchsorted(query.words, words)]
        weights = times * self._weighting.weights(words, held.data[shared], self.lengths[chosen[owner]])
        result: list[list[tuple[str, float]]] = [[] for _ in rows]
        for i in np.lexsort((words, -weights, owner)).tolist():
            if len(result[owner[i]]) < limit:
                result[owner[i]].append((names[int(words[i])], float(weights[i])))
        return result

    def key_terms(self, texts: Sequence[str], limit: int) -> list[list[str]]:
        """The words of each text that are more frequent there than in the index, weightiest first, each once.

        The weight is that of Bose-Einstein statistics (Bo1, Amati and van Rijsbergen, 2002), as in Whoosh and so in
        Citeomatic's BM25 baseline (Appendix D): for a word with f occurrences in the text and a mean of m in a document
        of the index, ``f * log2((1 + m) / m) + log2(1 + m)``.
        """
        queries = self.count(texts)
        mean = self._occurrences[queries.words] / max(len(self), 1)
        weights = queries.times * np.log2((1 + mean) / mean) + np.log2(1 + mean)
        result = []
        for i, text in enumerate(texts):
            begin, end = queries.indptr[i : i + 2]
            chosen = queries.words[begin:end][np.argsort(-weights[begin:end], kind="stable")[:limit]]
            names = {number: word for word, number in self._split(text)}
            result.append([names[number] for number in chosen.tolist()])
        return result

    @cached_property
    def _occurrences(self) -> NDArray[np.int64]:
        """(V,) how often each word occurs in all documents; at least 1, for words whose documents were left out."""
        total = np.zeros(self.counts.shape[1], np.int64)
        for block in self.counts.blocks():
            total += np.bincount(block.indices, block.data, minlength=len(total)).astype(np.int64)
        return np.maximum(total, 1)

    def _split(self, text: str) -> Iterator[tuple[str, int]]:
        for word in self.tokenizer.words(text):
            if word in self.vocabulary:
                yield word, self.vocabulary[word]
