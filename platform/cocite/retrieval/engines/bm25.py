"""BM25 over any list of texts, scored for whole blocks of queries at once.

The engine is the bm25s library, with eager sparse scoring: the weight of a word in a document does not depend on the
query, so the library computes all weights once, as a sparse matrix (:mod:`~cocite.retrieval.engines.bm25_weights` has
the formula). A block of queries is then one product, word counts (Q, V) times the weights (V, N): a word counts as
often as it occurs in the query. This module adds what the library lacks: documents can be appended, selected, grouped
and scored one by one without splitting their text into words again.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from cocite.artifacts import load_array
from cocite.atomic_files import write_atomic
from cocite.errors import InputError, NotFoundError
from cocite.manifests import read_error, read_json
from cocite.protocols import Ranking
from cocite.retrieval.engines import matrices
from cocite.retrieval.engines.bm25_weights import TermWeighting, library_weights, lucene_idf
from cocite.text.tokens import WordTokenizer

CELLS = 320_000
"""Scores computed at a time, where that makes 8 to 64 queries: 1.3 MB, which a core's own cache holds."""


class Bm25Index:
    """A BM25 index of N documents; immutable, so that threads can share it.

    Attributes:
        vocabulary: word -> column.
        counts: (N, V) how often each word occurs in each document.
        idf: (V,) inverse document frequencies.
        mean_length: mean number of words of a document, as of the last full build.
        postings: (V, N) the weight of each word in each document: what the scores are sums of.

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
        counts: sp.csr_matrix,
        idf: NDArray[np.float64],
        mean_length: float,
        *,
        k1: float,
        b: float,
        postings: sp.csr_matrix | None = None,
        lengths: NDArray[np.int64] | None = None,
    ) -> None:
        self.tokenizer, self.vocabulary, self.counts = tokenizer, vocabulary, counts
        self.idf, self.mean_length, self.k1, self.b = idf, mean_length, k1, b
        self._weighting = TermWeighting(idf, mean_length, k1, b)
        self.lengths = np.asarray(counts.sum(axis=1), np.int64).ravel() if lengths is None else lengths
        if postings is not None:
            self.postings = postings

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
        return cls._exact(tokenizer, vocabulary, counts, k1, b)

    @classmethod
    def _exact(
        cls, tokenizer: WordTokenizer, vocabulary: dict[str, int], counts: sp.csr_matrix, k1: float, b: float
    ) -> Bm25Index:
        documents = counts.shape[0]
        holding = np.bincount(counts.indices, minlength=len(vocabulary))
        mean = counts.data.sum(dtype=np.int64) / max(documents, 1)
        return cls(
            tokenizer, vocabulary, counts, lucene_idf(holding, documents), float(mean) or 1.0, k1=k1, b=b
        )

    def append(self, texts: Iterable[str]) -> Bm25Index:
        """A new index with more documents behind the present ones, whose text is not needed.

        The corpus statistics stay those of the last full build: the idf of known words and the mean length are
        kept, so that old documents keep their scores to the bit; a new word gets the formula's idf over all
        documents there are now. After many additions, :meth:`build`, or :meth:`select` of all, makes them exact again.
        """
        vocabulary = dict(self.vocabulary)
        numbers, indptr = self.tokenizer.learn(texts, vocabulary)
        new = matrices.counted(numbers, indptr, columns=len(vocabulary))
        holding = np.bincount(new.indices, minlength=len(vocabulary))[len(self.vocabulary) :]
        grown = Bm25Index(
            self.tokenizer,
            vocabulary,
            sp.vstack([matrices.widened(self.counts, len(vocabulary)), new], format="csr"),
            np.concatenate([self.idf, lucene_idf(holding, len(self) + new.shape[0])]),
            self.mean_length,
            k1=self.k1,
            b=self.b,
        )
        old = matrices.heightened(self.postings, len(vocabulary))
        grown.postings = sp.hstack([old, grown._weighting.weigh(new).T.tocsr()], format="csr")
        return grown

    def select(self, documents: ArrayLike) -> Bm25Index:
        """An index of some documents alone, with exact statistics of its own; no text is split again.

        Equal to :meth:`build` on their texts, but for words that none of them holds, which never score.
        """
        return self._exact(
            self.tokenizer, self.vocabulary, self.counts[np.asarray(documents)], self.k1, self.b
        )

    def grouped(
        self, documents: ArrayLike, groups: ArrayLike, count: int, *, like: Bm25Index | None = None
    ) -> Bm25Index:
        """An index of ``count`` groups of documents, each scored as one long text; with exact statistics of its own.

        Args:
            documents: members, by pairs with ``groups``; a document may be in several groups, or in none.
            groups: the group of each member.
            count: how many groups there are.
            like: an earlier grouping, before this index was appended to: its statistics are kept, as
                :meth:`append` keeps them, and nothing is built anew.
        """
        members = np.asarray(documents, np.int64)
        cells = (np.asarray(groups, np.int64), members)
        membership = sp.csr_matrix((np.ones(len(members), np.int32), cells), shape=(count, len(self)))
        counts = sp.csr_matrix(membership @ self.counts)
        counts.sort_indices()
        if like is None:
            return self._exact(self.tokenizer, self.vocabulary, counts, self.k1, self.b)
        holding = np.bincount(counts.indices, minlength=len(self.vocabulary))[len(like.vocabulary) :]
        idf = np.concatenate([like.idf, lucene_idf(holding, count)])
        result = Bm25Index(
            self.tokenizer, self.vocabulary, counts, idf, like.mean_length, k1=self.k1, b=self.b
        )
        result.postings = result._weighting.weigh(counts).T.tocsr()
        return result

    def __len__(self) -> int:
        return int(self.counts.shape[0])

    # -- scoring --------------------------------------------------------------------------------------------

    def scores(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """(Q, N) scores of every document; 0 where no word is shared.

        A query's scores do not depend on which others share its block.
        """
        result = np.empty((len(texts), len(self)), np.float32)
        for start, block in self.blocks(texts):
            result[start : start + len(block)] = block
        return result

    def blocks(self, texts: Sequence[str]) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """The dense scores in blocks of bounded size: ``(first query, (q, N) scores)``."""
        queries = self._query_counts(texts)
        step = int(np.clip(CELLS // max(len(self), 1), 8, 64))
        for start in range(0, len(texts), step):
            block = queries[start : start + step]
            words, inverse = np.unique(block.indices, return_inverse=True)
            weights = np.zeros((len(words), block.shape[0]), np.float32)
            weights[inverse, np.repeat(np.arange(block.shape[0]), np.diff(block.indptr))] = block.data
            # Sparse (N, words) times dense (words, q): each posting is one vector operation over the block.
            yield start, np.ascontiguousarray((self.postings[words].T @ weights).T, np.float32)

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
        queries = self._query_counts(texts)
        result = np.zeros(rows.shape, np.float32)
        step = 64
        column = np.full(len(self.vocabulary), -1, np.int64)  # of each word in the block's weights
        for start in range(0, len(texts), step):
            block, chosen = queries[start : start + step], rows[start : start + step]
            words, inverse = np.unique(block.indices, return_inverse=True)
            weights = np.zeros((block.shape[0], len(words) + 1))
            weights[np.repeat(np.arange(block.shape[0]), np.diff(block.indptr)), inverse] = block.data
            column[words] = np.arange(len(words))
            candidates = chosen.ravel()
            present = np.flatnonzero(candidates >= 0)
            owner, entries = matrices.entries(self.counts, candidates[present])
            terms = self.counts.indices[entries]
            asked = column[terms] >= 0
            owner, entries, terms = owner[asked], entries[asked], terms[asked]
            document = candidates[present][owner]
            weight = self._weighting.weights(terms, self.counts.data[entries], self.lengths[document])
            query = present[owner] // max(chosen.shape[1], 1)
            total = np.bincount(
                present[owner], weights=weight * weights[query, column[terms]], minlength=len(candidates)
            )
            result[start : start + step] = total.reshape(chosen.shape)
            column[words] = -1
        return result

    def scores_of(self, text: str, counts: sp.csr_matrix) -> NDArray[np.float32]:
        """(m,) scores of documents that are not indexed, given by their word counts (m, V)."""
        weights = self._weighting.weigh(counts.tocsr())
        return np.asarray((weights @ self._query_counts([text]).T).toarray(), np.float32).ravel()

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
        query = self._query_counts([text])
        times = np.zeros(len(self.vocabulary), np.int64)
        times[query.indices] = query.data
        chosen = np.asarray(rows, np.int64)
        owner, entries = matrices.entries(self.counts, chosen)
        words = self.counts.indices[entries]
        shared = np.isin(words, np.fromiter(names, np.int64, len(names)))
        owner, entries, words = owner[shared], entries[shared], words[shared]
        weights = times[words] * self._weighting.weights(
            words, self.counts.data[entries], self.lengths[chosen[owner]]
        )
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
        queries = self._query_counts(texts)
        mean = self._occurrences[queries.indices] / max(len(self), 1)
        weights = queries.data * np.log2((1 + mean) / mean) + np.log2(1 + mean)
        result = []
        for i, text in enumerate(texts):
            begin, end = queries.indptr[i : i + 2]
            chosen = queries.indices[begin:end][np.argsort(-weights[begin:end], kind="stable")[:limit]]
            names = {number: word for word, number in self._split(text)}
            result.append([names[number] for number in chosen.tolist()])
        return result

    @cached_property
    def _occurrences(self) -> NDArray[np.int64]:
        """(V,) how often each word occurs in all documents; at least 1, for words whose documents were left out."""
        total = np.bincount(self.counts.indices, self.counts.data, minlength=len(self.vocabulary))
        return np.maximum(total, 1).astype(np.int64)

    def _split(self, text: str) -> Iterator[tuple[str, int]]:
        for word in self.tokenizer.words(text):
            if word in self.vocabulary:
                yield word, self.vocabulary[word]

    def _query_counts(self, texts: Sequence[str]) -> sp.csr_matrix:
        numbers, indptr = self.tokenizer.lookup(texts, self.vocabulary)
        return matrices.counted(numbers, indptr, columns=len(self.vocabulary))

    @cached_property
    def postings(self) -> sp.csr_matrix:
        """(V, N) weights, computed on first use: some indexes only serve to derive others from."""
        return library_weights(self.counts, self.vocabulary, self.k1, self.b)

    # -- files --------------------------------------------------------------------------------------------

    def save(self, folder: Path) -> None:
        """Write the index into a new folder: NumPy arrays, the words one a line, and the settings as JSON."""
        folder = Path(folder)
        folder.mkdir(parents=True)
        matrices.save(folder, "counts", self.counts)
        matrices.save(folder, "postings", self.postings)
        np.save(folder / "idf.npy", self.idf)
        np.save(folder / "lengths.npy", self.lengths)
        words = "\n".join(self.vocabulary)
        (folder / "vocabulary.txt").write_text(words, encoding="utf-8", newline="\n")
        settings = {
            "k1": self.k1,
            "b": self.b,
            "mean_length": self.mean_length,
            "stopwords": self.tokenizer.stopwords,
            "stemmer": self.tokenizer.stemmer,
            "documents": len(self),
            "words": len(self.vocabulary),
        }
        write_atomic(folder / "bm25.json", json.dumps(settings, indent=1) + "\n")

    @classmethod
    def load(cls, folder: Path) -> Bm25Index:
        """Open a saved index; the arrays are memory-mapped.

        Raises:
            NotFoundError: there is no such folder.
            IntegrityError: it holds no readable index.
        """
        folder = Path(folder)
        if not folder.is_dir():
            raise NotFoundError("no such folder", where=str(folder))
        settings = read_json(folder / "bm25.json")
        try:
            text = (folder / "vocabulary.txt").read_text(encoding="utf-8")
            words = text.split("\n") if text else []
            if len(words) != settings["words"]:
                raise ValueError(f"{len(words)} words where {settings['words']} were written")
            shape = (settings["documents"], settings["words"])
            return cls(
                WordTokenizer(settings["stopwords"], settings["stemmer"]),
                {word: i for i, word in enumerate(words)},
                matrices.load(folder, "counts", shape),
                load_array(folder / "idf.npy"),
                settings["mean_length"],
                k1=settings["k1"],
                b=settings["b"],
                postings=matrices.load(folder, "postings", shape[::-1]),
                lengths=load_array(folder / "lengths.npy"),
            )
        except (OSError, KeyError, ValueError, TypeError) as error:
            raise read_error(error, folder, "not a readable BM25 index", "build the index again") from error
