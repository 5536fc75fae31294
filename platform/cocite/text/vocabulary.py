"""Words and names as numbers: a fixed list of types, each with the number of papers it occurs in.

All functions take whole Arrow columns: a corpus is split into words, counted and numbered without a Python loop over
papers or words.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cocite.atomic_files import write_atomic
from cocite.corpus.csr import CSR
from cocite.errors import IntegrityError, NotFoundError
from cocite.manifests import read_error
from cocite.text.token_lists import TokenLists

NOT_A_WORD = r"[^\p{L}\p{N}\p{M}]+"
"""Separators of words (RE2): all but letters, digits and marks of any script."""
NOT_AN_ASCII_WORD = r"[^a-z0-9]+"
"""The same of lower-case ASCII. RE2 takes 2.4 ms to compile the other, in every call, so that a query would wait 10."""
ACCENTS = r"[\x{0300}-\x{036F}]+"
"""Accents of decomposed Latin, Greek and Cyrillic letters (RE2)."""
MARKS = r"TARGETCIT|OTHERCIT|\[CIT\]|\[\[CIT:[0-9]+\]\]"
"""Citation marks of contexts and bodies (RE2), which are not words."""
MERGED_AT = 2_000_000
"""Types of batches that were counted and not yet added up, at most; 2,000,000 take about 60 MB."""
SMALL = 4096
"""Number of tokens up to which a Python dictionary is faster than the hash table that Arrow builds for each call."""


def words(texts: pa.Array) -> pa.ListArray:
    """The lower-case words of each text, in order; a separator at either end adds an empty word.

    Compatibility forms are folded and accents dropped, so that a word has one spelling despite the ligatures and lost
    accents of PDF text.

    Example:
        >>> words(pa.array(["Naïve parsing TARGETCIT", None])).to_pylist()
        [['naive', 'parsing', ''], ['']]
    """
    texts = pc.replace_substring_regex(texts.fill_null(""), pattern=MARKS, replacement=" ")
    # Decomposed, accents are characters of their own, which the next line removes.
    texts = pc.utf8_lower(pc.utf8_normalize(texts, form="NFKD"))
    texts = pc.replace_substring_regex(texts, pattern=ACCENTS, replacement="")
    plain = pc.all(pc.string_is_ascii(texts)).as_py()
    return pc.split_pattern_regex(texts, pattern=NOT_AN_ASCII_WORD if plain else NOT_A_WORD)


def names(lists: pa.ListArray) -> pa.ListArray:
    """Names of people, venues or keyphrases: whole, with case and runs of white space folded.

    Example:
        >>> names(pa.array([["Ada  Lovelace"], []])).to_pylist()
        [['ada lovelace'], []]
    """
    flat = lists.flatten()
    folded = pc.utf8_trim_whitespace(
        pc.replace_substring_regex(pc.utf8_lower(flat.fill_null("")), pattern=r"\s+", replacement=" ")
    )
    offsets = np.concatenate([[0], np.cumsum(_lengths(lists))]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), folded)


def _lengths(lists: pa.ListArray) -> NDArray[np.int64]:
    return np.asarray(lists.value_lengths().fill_null(0).to_numpy(zero_copy_only=False), np.int64)


def _entries(lists: pa.ListArray, limit: int | None) -> tuple[NDArray[np.int64], pa.Array]:
    """(owner, value) of the first ``limit`` entries of each list."""
    lengths = _lengths(lists)
    owner = np.repeat(np.arange(len(lists)), lengths)
    flat = lists.flatten()
    if limit is not None and len(lengths) and lengths.max() > limit:
        within = np.arange(len(owner)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        keep = within < limit
        return owner[keep], flat.filter(pa.array(keep))
    return owner, flat


class DocumentCounts:
    """Counts over batches of documents in how many of them each type occurs.

    Example:
        >>> counts = DocumentCounts()
        >>> counts.add(words(pa.array(["a tree a day", "a graph"])))
        >>> vocabulary = counts.vocabulary(size=2)
        >>> vocabulary.types, vocabulary.counts.tolist()
        (('a', 'day'), [2, 1])
    """

    def __init__(self) -> None:
        self._parts: list[pa.Table] = []
        self._waiting = 0  # types in all parts but the first, which holds what was added up

    def add(self, lists: pa.ListArray, limit: int | None = None) -> None:
        """Count the first ``limit`` entries of each document of a batch."""
        owner, flat = _entries(lists, limit)
        coded = pc.dictionary_encode(flat)
        codes = np.asarray(coded.indices.to_numpy(zero_copy_only=False), np.int64)
        pairs = np.unique(codes * max(len(lists), 1) + owner)
        counts = np.bincount(pairs // max(len(lists), 1), minlength=len(coded.dictionary))
        self._parts.append(pa.table({"type": coded.dictionary.cast(pa.string()), "count": counts}))
        self._waiting += len(counts)
        if self._waiting > MERGED_AT:
            self._parts, self._waiting = [self._sums()], 0

    def _sums(self) -> pa.Table:
        """The counts of all batches so far, one row a type."""
        sums = pa.concat_tables(self._parts).group_by("type").aggregate([("count", "sum")])
        return sums.rename_columns({"count_sum": "count"})

    def vocabulary(self, *, size: int | None = None, least: int = 1) -> Vocabulary:
        """The ``size`` types in the most documents, and in no fewer than ``least``; ties go by spelling."""
        if not self._parts:
            return Vocabulary((), np.zeros(0, np.int64))
        merged = self._sums().filter((pc.field("count") >= least) & (pc.field("type") != ""))
        merged = merged.sort_by([("count", "descending"), ("type", "ascending")])
        merged = merged.slice(0, size) if size is not None else merged
        return Vocabulary(merged["type"].to_pylist(), merged["count"].to_numpy())


class Vocabulary:
    """A list of types (words or names), whose positions are their numbers.

    Args:
        types: the distinct types.
        counts: (V,) in how many documents each occurred when the vocabulary was made.

    Example:
        >>> vocabulary = Vocabulary(["tree", "graph"], np.array([9, 4]))
        >>> vocabulary.numbers(pa.array(["graph", "table"])).tolist()
        [1, -1]
    """

    def __init__(self, types: Sequence[str], counts: NDArray[np.int64]) -> None:
        self.types = tuple(types)
        self.counts = np.asarray(counts, np.int64)

    def __len__(self) -> int:
        return len(self.types)

    @cached_property
    def _array(self) -> pa.Array:
        return pa.array(self.types, pa.string())

    @cached_property
    def _index(self) -> dict[str, int]:
        return {type_: i for i, type_ in enumerate(self.types)}

    def numbers(self, types: pa.Array) -> NDArray[np.int32]:
        """The number of each type of an array; -1 for one that is not in the vocabulary."""
        if len(types) <= SMALL:
            get = self._index.get
            return np.array([get(type_, -1) for type_ in types.to_pylist()], np.int32)
        numbers = pc.index_in(types, value_set=self._array)
        return np.asarray(numbers.fill_null(-1).to_numpy(zero_copy_only=False), np.int32)

    def encode(self, lists: pa.ListArray, limit: int | None = None) -> CSR:
        """The set of each list's known types among the first ``limit`` entries, ascending."""
        owner, flat = _entries(lists, limit)
        numbers = self.numbers(flat)
        known = numbers >= 0
        return CSR.build(owner[known], numbers[known], len(lists))

    def sequences(self, lists: pa.ListArray, limit: int | None = None) -> TokenLists:
        """Each list's known types among the first ``limit`` entries, in order, as often as they occur.

        Example:
            >>> vocabulary = Vocabulary(["tree", "graph"], np.array([9, 4]))
            >>> vocabulary.sequences(words(pa.array(["graph of a tree, graph", ""])))[0].tolist()
            [1, 0, 1]
        """
        owner, flat = _entries(lists, limit)
        numbers = self.numbers(flat)
        known = numbers >= 0
        counts = np.bincount(owner[known], minlength=len(lists)).astype(np.int64)
        return TokenLists(numbers[known], np.cumsum(counts) - counts, counts)

    def inverse_document_frequency(self, documents: int) -> NDArray[np.float32]:
        """(V,) log((documents + 1) / (count + 1)) + 1: the weight of a type before training."""
        return (np.log((documents + 1) / (self.counts + 1)) + 1).astype(np.float32)

    def save(self, path: Path) -> None:
        """Write a line for each type: the type, a tab, its count."""
        lines = (f"{type_}\t{count}\n" for type_, count in zip(self.types, self.counts, strict=True))
        write_atomic(path, "".join(lines))

    @classmethod
    def load(cls, path: Path) -> Vocabulary:
        """Load the vocabulary that :meth:`save` wrote.

        Raises:
            NotFoundError: there is no such file.
            IntegrityError: a line has another form; the error names it.
        """
        try:
            lines = path.read_text(encoding="utf-8").split("\n")[:-1]
        except FileNotFoundError as error:
            raise NotFoundError("no such file", where=str(path)) from error
        except (OSError, UnicodeDecodeError) as error:
            raise read_error(error, path, "not valid UTF-8") from error
        types, counts = [], []
        for number, line in enumerate(lines, 1):
            type_, tab, count = line.rpartition("\t")
            if not tab or not count.isascii() or not count.isdigit():
                raise IntegrityError("not a type, a tab and a count", where=f"{path}:{number}")
            types.append(type_)
            counts.append(int(count))
        return cls(types, np.array(counts, np.int64))


def concatenate(parts: Iterable[CSR]) -> CSR:
    """The rows of all tables, table after table.

    Example:
        >>> one = CSR(np.array([0, 2]), np.array([4, 5], np.int32))
        >>> concatenate([one, one]).indptr.tolist()
        [0, 2, 4]
    """
    parts = list(parts)
    if not parts:
        return CSR(np.zeros(1, np.int64), np.zeros(0, np.int32))
    starts = np.cumsum([0, *(int(part.indptr[-1]) for part in parts)])
    pointers = [part.indptr[1:] + start for part, start in zip(parts, starts[:-1], strict=True)]
    return CSR(np.concatenate([[0], *pointers]), np.concatenate([part.indices for part in parts]))
