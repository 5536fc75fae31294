"""Makes bags of numbered words and names of papers and queries, field by field, which NNSelect and NNRank read.

A *bag* is a set: a word that a title repeats counts once (Citeomatic, section 3). Bags of many papers are one
:class:`~cocite.corpus.csr.CSR` a field.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cocite.bounds import SmallCount, TextLength, Total
from cocite.config import Settings
from cocite.corpus.csr import CSR
from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.protocols import Query
from cocite.text.token_lists import TokenLists
from cocite.text.vocabulary import DocumentCounts, Vocabulary, concatenate, names, words

TEXT = ("title", "abstract")
METADATA = ("authors", "venue", "keyphrases")

Bags = Mapping[str, CSR]
"""Field -> one set of type numbers for each paper or query."""


class FieldSettings(Settings):
    """How much of a paper is read (Citeomatic, Table 8, its values for PubMed and DBLP).

    Example:
        >>> FieldSettings(vocabulary_size=50_000).max_abstract
        500
    """

    vocabulary_size: Total = 200_000
    """Word types of titles and abstracts."""
    min_papers_per_word: Total = 2
    """Papers in which a word of the vocabulary must occur: a word of one paper links it to no other."""
    max_title: TextLength = 50
    """Words read of a title."""
    max_abstract: TextLength = 500
    """Words read of an abstract."""
    min_papers_per_author: Total = 1
    min_papers_per_venue: Total = 1
    min_papers_per_keyphrase: Total = 5
    max_authors: SmallCount = 8
    """Authors read of a paper."""
    max_keyphrases: SmallCount = 20
    """Keyphrases read of a paper."""


@dataclass(frozen=True)
class FieldEncoder:
    """Makes bags of papers and queries.

    Attributes:
        settings: limits.
        vocabularies: ``words``, and any of ``authors``, ``venue``, ``keyphrases``.

    Example:
        >>> vocabulary = Vocabulary(["parsing", "trees"], np.array([9, 4]))
        >>> encoder = FieldEncoder(FieldSettings(), {"words": vocabulary})
        >>> bags = encoder.queries([Query("q", title="Parsing and parsing", abstract="Trees, parsing")])
        >>> bags["title"].indices.tolist(), bags["abstract"].indices.tolist()
        ([0], [0, 1])
    """

    settings: FieldSettings
    vocabularies: Mapping[str, Vocabulary]

    @classmethod
    def build(
        cls,
        history: History,
        settings: FieldSettings,
        *,
        metadata: bool = False,
        advance: Callable[[int], object] = lambda _: None,
    ) -> FieldEncoder:
        """Make the vocabularies of a history's papers, never of later ones.

        Args:
            history: whose citing papers are counted.
            settings: limits.
            metadata: whether authors, venues and keyphrases get vocabularies, too.
            advance: receives the number of papers that were just read.
        """
        counts = {"words": DocumentCounts()}
        if metadata:
            counts |= {field: DocumentCounts() for field in METADATA}
        start = 0
        for batch in history.corpus.papers.table.to_batches():
            known = batch.filter(pa.array(history.citing[start : start + len(batch)]))
            start += len(batch)
            text = pc.binary_join_element_wise(
                known["title"].fill_null(""), known["abstract"].fill_null(""), " "
            )
            counts["words"].add(words(text), settings.max_title + settings.max_abstract)
            for field in METADATA if metadata else ():
                counts[field].add(_metadata(field, known[field]), cls._limit(settings, field))
            advance(len(batch))
        least = {
            "authors": settings.min_papers_per_author,
            "venue": settings.min_papers_per_venue,
            "keyphrases": settings.min_papers_per_keyphrase,
        }
        vocabularies = {
            "words": counts["words"].vocabulary(
                size=settings.vocabulary_size, least=settings.min_papers_per_word
            )
        }
        vocabularies |= {f: c.vocabulary(least=least[f]) for f, c in counts.items() if f != "words"}
        return cls(settings, vocabularies)

    @staticmethod
    def _limit(settings: FieldSettings, field: str) -> int:
        return {
            "title": settings.max_title,
            "abstract": settings.max_abstract,
            "authors": settings.max_authors,
            "venue": 1,
            "keyphrases": settings.max_keyphrases,
        }[field]

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields that are read."""
        return TEXT + tuple(field for field in METADATA if field in self.vocabularies)

    def bag(self, field: str, column: pa.Array) -> CSR:
        """The bags of a column of a field."""
        lists = words(column) if field in TEXT else _metadata(field, column)
        vocabulary = self.vocabularies["words" if field in TEXT else field]
        return vocabulary.encode(lists, self._limit(self.settings, field))

    def sequence(self, field: str, column: pa.Array) -> TokenLists:
        """The known words of a column of texts, in order."""
        return self.vocabularies["words"].sequences(words(column), self._limit(self.settings, field))

    def papers(self, corpus: Corpus, rows: NDArray[np.int32] | None = None) -> dict[str, CSR]:
        """Bags of all papers of a corpus, or of some rows."""
        table, rows = _texts_of(corpus, self.fields, rows)
        bags = {
            field: concatenate(self.bag(field, chunk) for chunk in table.column(field).chunks)
            for field in self.fields
        }
        return bags if rows is None else {field: take(bag, rows) for field, bag in bags.items()}

    def paper_sequences(self, corpus: Corpus, rows: NDArray[np.int32] | None = None) -> dict[str, TokenLists]:
        """The known words of title and abstract in order, of all papers of a corpus, or of some rows."""
        table, rows = _texts_of(corpus, TEXT, rows)
        texts = {
            field: TokenLists.stacked([self.sequence(field, chunk) for chunk in table.column(field).chunks])
            for field in TEXT
        }
        return texts if rows is None else {field: lists.take(rows) for field, lists in texts.items()}

    def query_sequences(self, queries: Sequence[Query]) -> dict[str, TokenLists]:
        """The known words of queries in order; the context of a gap is read as the beginning of the abstract."""
        return {field: self.sequence(field, column) for field, column in _text_columns(queries).items()}

    def queries(self, queries: Sequence[Query]) -> dict[str, CSR]:
        """Bags of queries; the context of a gap is read as the beginning of the abstract."""
        columns: dict[str, pa.Array] = {
            **_text_columns(queries),
            "authors": pa.array([list(query.authors) for query in queries], pa.list_(pa.string())),
            "venue": pa.array([query.venue for query in queries], pa.string()),
            "keyphrases": pa.array([list(query.keyphrases) for query in queries], pa.list_(pa.string())),
        }
        return {field: self.bag(field, columns[field]) for field in self.fields}

    def save(self, folder: Path) -> None:
        """Write a text file for each vocabulary."""
        for name, vocabulary in self.vocabularies.items():
            vocabulary.save(folder / f"{name}.txt")

    @classmethod
    def load(cls, folder: Path, settings: FieldSettings, *, metadata: bool) -> FieldEncoder:
        """Load the encoder that :meth:`save` wrote."""
        vocabularies = ("words", *(METADATA if metadata else ()))
        return cls(settings, {name: Vocabulary.load(folder / f"{name}.txt") for name in vocabularies})


def _texts_of(
    corpus: Corpus, fields: Sequence[str], rows: NDArray[np.int32] | None
) -> tuple[pa.Table, NDArray[np.int32] | None]:
    """The papers' columns, and which of their rows are meant: few papers are taken out, many would cost a copy."""
    if rows is not None and len(rows) < len(corpus) // 4:
        # Only the texts of these papers are cut into words then.
        return pa.table({field: corpus.papers.taken(field, rows) for field in fields}), None
    return corpus.papers.table.select(list(fields)), rows


def _text_columns(queries: Sequence[Query]) -> dict[str, pa.Array]:
    """What title and abstract of queries are."""
    return {
        "title": pa.array([query.title for query in queries], pa.string()),
        "abstract": pa.array([f"{q.context} {q.abstract}".strip() for q in queries], pa.string()),
    }


def _metadata(field: str, column: pa.Array) -> pa.ListArray:
    """A metadata column as lists of folded names (a venue is a list of one)."""
    if field == "venue":
        column = pa.ListArray.from_arrays(
            pa.array(np.arange(len(column) + 1, dtype=np.int32)), column.fill_null("")
        )
    return names(column)


def take(bags: CSR, rows: NDArray[Any]) -> CSR:
    """The bags of some rows, in their order.

    Example:
        >>> take(CSR(np.array([0, 1, 3]), np.array([4, 5, 6], np.int32)), np.array([1, 1])).indices.tolist()
        [5, 6, 5, 6]
    """
    _, entries = bags.gather(rows)
    counts = bags.indptr[rows + 1] - bags.indptr[rows]
    return CSR(np.concatenate([[0], np.cumsum(counts)]), entries)


def shared(
    left: CSR, left_rows: NDArray[Any], right: CSR, right_rows: NDArray[Any], types: int
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The types that the two bags of each pair share, for all pairs at once.

    Args:
        left, right: bags over the same vocabulary of ``types`` types.
        left_rows, right_rows: (P,) the bags of each pair. The work is the size of the right bags, plus a table of
            (distinct left rows) x ``types`` bytes: give few distinct left rows (queries) and many right (candidates).

    Returns:
        ``(pair, type)``: one entry for each shared type, in order of the pair.

    Example:
        >>> bags = CSR(np.array([0, 2, 4]), np.array([0, 2, 1, 2], np.int32))  # {0, 2} and {1, 2}
        >>> [entry.tolist() for entry in shared(bags, np.array([0]), bags, np.array([1]), types=3)]
        [[0], [2]]
    """
    distinct, position = np.unique(left_rows, return_inverse=True)
    marks = np.zeros((len(distinct), types), bool)
    owner, entries = left.gather(distinct)
    marks[owner, entries] = True
    pair, entries = right.gather(right_rows)
    hit = marks.ravel()[position[pair] * types + entries]
    return pair[hit], entries[hit]


def jaccard(
    left: CSR, left_rows: NDArray[Any], right: CSR, right_rows: NDArray[Any], types: int, block: int = 512
) -> NDArray[np.float32]:
    """(P,) size of the intersection over size of the union of each pair's bags; 0 for two empty bags.

    ``block`` distinct left rows are compared at a time.

    Example:
        >>> bags = CSR(np.array([0, 2, 4]), np.array([0, 2, 1, 2], np.int32))
        >>> jaccard(bags, np.array([0, 0]), bags, np.array([0, 1]), types=3).round(2).tolist()
        [1.0, 0.33000001311302185]
    """
    common = np.zeros(len(left_rows), np.float32)
    order = np.argsort(left_rows, kind="stable")
    # A block of queries at a time: ``shared`` marks a byte for each of them and each type.
    bounds = np.flatnonzero(np.diff(left_rows[order], prepend=-1))[::block]
    for start, stop in itertools.pairwise([*bounds, len(order)]):
        part = order[start:stop]
        pair, _ = shared(left, left_rows[part], right, right_rows[part], types)
        common[part] = np.bincount(pair, minlength=len(part))
    union = left.degrees[left_rows] + right.degrees[right_rows] - common
    return np.asarray(common / np.maximum(union, 1), np.float32)
