"""How often each document holds each word, in two fields that are stored side by side, four bytes a word.

Often the words of one field all stand in another: a title's in title and abstract together, those next to a gap in the
whole context. Such an *inner* field has no words of its own here. A document has one entry for each word of its *outer*
field, with the word and a code of both counts; so it costs no bytes, and a query that scores a document by both fields
reads one place.

| array | holds |
| --- | --- |
| ``documents`` | (N + 1,) where the entries of each document begin, and its length in words in both fields |
| ``entries`` | ``word << 8 | code`` in 32 bits, in 64 for more than 2**24 words; words ascend in a document |
| ``rare`` | the position and both counts of each entry with the code 255, in ascending order |

Codes number the pairs of counts from (1, 0), (1, 1) and (2, 0) to (22, 2), in which the outer field has the word at
least as often as the inner one; all others are rare. On ACL that is one entry in 160 of the longest documents, the
anchor texts, and one in 10,000 of the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from cocite.array_files import ArrayWriter
from cocite.corpus.csr import distinct
from cocite.retrieval.engines import matrices

DOCUMENT = np.dtype([("start", "<i8"), ("outer", "<i4"), ("inner", "<i4")])
RARE = np.dtype([("at", "<i8"), ("outer", "<i4"), ("inner", "<i4")])
SHORT = 1 << 24
"""Words that an entry of 32 bits can tell apart."""
BLOCK = 1 << 16
"""Documents packed or unpacked at a time: matrices take three times the memory of what is packed."""
_PARTS = ("documents", "entries", "rare")


def _tables() -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """(256,) twice: the outer and the inner count that each code stands for."""
    outer = np.repeat(np.arange(1, 23), np.arange(2, 24))[:255]
    code = np.arange(255)
    inner = code - (outer * (outer + 1) // 2 - 1)
    tables = (np.append(count, -1).astype(np.int32) for count in (outer, inner))
    return matrices.read_only(next(tables)), matrices.read_only(next(tables))


OF_CODE = _tables()


@dataclass(frozen=True)
class PackedCounts:
    """The word counts of N documents in an outer and an inner field.

    Attributes:
        documents: (N + 1,) of :data:`DOCUMENT`.
        entries: (n,) packed.
        rare: (m,) of :data:`RARE`.
        words: V.

    Example:
        >>> text, title = (sp.csr_matrix(np.array(of, np.int32)) for of in ([[2, 1], [0, 300]], [[1, 0], [0, 1]]))
        >>> packed = PackedCounts.of([(text, title)], words=2)
        >>> packed.entries.tolist(), packed.rare.tolist()
        ([3, 256, 511], [(2, 300, 1)])
        >>> packed.outer.matrix().toarray().tolist(), packed.inner.lengths.tolist()
        ([[2, 1], [0, 300]], [1, 1])
    """

    documents: NDArray[np.void]
    entries: NDArray[np.unsignedinteger[Any]]
    rare: NDArray[np.void]
    words: int

    @classmethod
    def of(cls, blocks: Iterable[tuple[sp.csr_matrix, sp.csr_matrix | None]], words: int) -> PackedCounts:
        """Pack the counts of documents in order, a block of them at a time.

        Args:
            blocks: (n, V) the outer and the inner counts; None: the inner field is empty.
            words: V, of which a block need not have the last columns.
        """
        packer = _Packer(words)
        parts = [part for block in blocks for part in packer.pack(*block)]
        documents, entries, rare = (
            matrices.read_only(np.concatenate(arrays)) for arrays in zip(*parts, packer.end(), strict=True)
        )
        return cls(documents, entries, rare, words)

    @property
    def outer(self) -> FieldCounts:
        """The counts of the outer field."""
        return FieldCounts(self, False)

    @property
    def inner(self) -> FieldCounts:
        """The counts of the inner field."""
        return FieldCounts(self, True)

    def take(self, rows: NDArray[Any]) -> PackedCounts:
        """Some documents alone, numbered anew; nothing is unpacked."""
        from cocite.retrieval.engines import document_kernels

        rows = matrices.read_only(np.ascontiguousarray(rows, np.int64))
        starts = self.documents["start"]
        begins, ends = starts[rows], starts[rows + 1]
        rares = np.searchsorted(self.rare["at"], ends) - np.searchsorted(self.rare["at"], begins)
        documents = np.zeros(len(rows) + 1, DOCUMENT)
        entries = np.empty(int((ends - begins).sum()), self.entries.dtype)
        rare = np.empty(int(rares.sum()), RARE)
        document_kernels.copy_documents(
            self.documents, self.entries, self.rare, rows, documents, entries, rare
        )
        return PackedCounts(
            matrices.read_only(documents), matrices.read_only(entries), matrices.read_only(rare), self.words
        )

    def equals(self, other: PackedCounts) -> bool:
        """Whether both hold the same counts in both fields, packed alike."""
        ours, theirs = ((each.documents, each.entries, each.rare) for each in (self, other))
        return self is other or all(map(np.array_equal, ours, theirs))

    @classmethod
    def load(cls, folder: Path, shape: tuple[int, int]) -> PackedCounts:
        """Memory-map what :class:`CountsWriter` wrote of N documents and V words.

        Raises:
            ValueError: the arrays do not fit together.
        """
        documents, entries, rare = map(matrices.read_only, matrices.load_parts(folder, "counts", _PARTS))
        types = (documents.dtype, entries.dtype, rare.dtype)
        if types not in ((DOCUMENT, np.dtype(bits), RARE) for bits in (np.uint32, np.uint64)):
            raise ValueError(f"word counts of the types {types}")
        if len(documents) != shape[0] + 1 or int(documents["start"][-1]) != len(entries):
            raise ValueError(
                f"{len(entries)} entries of {len(documents) - 1} documents, where {shape[0]} belong"
            )
        return cls(documents, entries, rare, shape[1])


@dataclass(frozen=True)
class FieldCounts:
    """The word counts of N documents in one of the fields of a :class:`PackedCounts`.

    Attributes:
        packed: both fields.
        is_inner: which of them.

    Example:
        >>> counts = FieldCounts.of(sp.csr_matrix(np.array([[2, 0, 1], [0, 1, 0]])))
        >>> counts.shape, counts.lengths.tolist(), counts.rows([1]).toarray().tolist()
        ((2, 3), [3, 1], [[0, 1, 0]])
    """

    packed: PackedCounts
    is_inner: bool

    @classmethod
    def of(cls, counts: sp.csr_matrix) -> FieldCounts:
        """Pack the counts (N, V) of a field alone."""
        return PackedCounts.of([(counts, None)], counts.shape[1]).outer

    @property
    def shape(self) -> tuple[int, int]:
        """N and V."""
        return len(self.packed.documents) - 1, self.packed.words

    @property
    def lengths(self) -> NDArray[np.int32]:
        """(N,) number of words of each document."""
        return self.packed.documents["inner" if self.is_inner else "outer"][:-1]

    @property
    def arrays(self) -> tuple[Any, ...]:
        """What compiled loops read: documents, entries, rare counts, which field, and its count for each code."""
        packed = self.packed
        return packed.documents, packed.entries, packed.rare, self.is_inner, OF_CODE[int(self.is_inner)]

    def indptr(self, rows: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        """(k + 1,) of the matrix of some documents, (k,), or of all."""
        from cocite.retrieval.engines import document_kernels

        rows = matrices.read_only(np.arange(self.shape[0]) if rows is None else rows)
        indptr = np.empty(len(rows) + 1, np.int64)
        document_kernels.sizes_of(*self.arrays, rows, indptr)
        return indptr

    def rows(self, rows: Any) -> sp.csr_matrix:
        """(k, V) int32 counts of some documents, (k,)."""
        from cocite.retrieval.engines import document_kernels  # Numba takes half a second to import

        rows = matrices.read_only(np.ascontiguousarray(rows, np.int64))
        indptr = self.indptr(rows)
        words, times = (np.empty(int(indptr[-1]), np.int32) for _ in range(2))
        document_kernels.unpack(*self.arrays, rows, words, times)
        return matrices.sorted_rows((times, words, indptr), (len(rows), self.shape[1]))

    def matrix(self) -> sp.csr_matrix:
        """(N, V) int32 counts of all documents, twice as large as packed."""
        return self.rows(np.arange(self.shape[0]))

    def blocks(self) -> Iterator[sp.csr_matrix]:
        """The counts of all documents, :data:`BLOCK` of them at a time."""
        for first in range(0, self.shape[0], BLOCK):
            yield self.rows(np.arange(first, min(first + BLOCK, self.shape[0])))

    def holding(self) -> NDArray[np.int64]:
        """(V,) how many documents hold each word."""
        from cocite.retrieval.engines import document_kernels

        _, entries, *field = self.arrays
        holding = np.zeros(self.shape[1], np.int64)
        document_kernels.count_holding(entries, *field, holding)
        return holding

    def widened(self, words: int) -> FieldCounts:
        """The same counts in a vocabulary with more words behind; shares its data."""
        packed = self.packed
        return FieldCounts(PackedCounts(packed.documents, packed.entries, packed.rare, words), self.is_inner)

    def take(self, rows: NDArray[Any]) -> FieldCounts:
        """Some documents alone, numbered anew; those of both fields are kept."""
        return FieldCounts(self.packed.take(rows), self.is_inner)

    def followed_by(self, more: sp.csr_matrix) -> FieldCounts:
        """These documents with others behind, given by their counts (m, V) of at least as many words."""

        def blocks() -> Iterator[tuple[sp.csr_matrix, None]]:
            for block in self.blocks():
                yield block, None
            yield more, None

        return PackedCounts.of(blocks(), more.shape[1]).outer

    def changed(self, documents: NDArray[np.int64], words: sp.csr_matrix, count: int) -> FieldCounts:
        """Some documents with more words, or fewer where a count is negative.

        Args:
            documents: (k,) ascending, each once.
            words: (k, V) how often each word is added, of at least as many words as these.
            count: how many documents there are then; those behind the present ones are empty before.
        """
        present = self.shape[0]

        def blocks() -> Iterator[tuple[sp.csr_matrix, None]]:
            for first in range(0, count, BLOCK):
                last = min(first + BLOCK, count)
                block = self.rows(np.arange(first, min(last, present)))
                begin, end = np.searchsorted(documents, [first, last])
                at = (documents[begin:end] - first, np.arange(begin, end))
                places = sp.csr_matrix((np.ones(end - begin, np.int32), at), (last - first, words.shape[0]))
                block.resize(last - first, words.shape[1])
                yield sp.csr_matrix(block + places @ words), None

        return PackedCounts.of(blocks(), words.shape[1]).outer

    def sums(self, members: sp.csr_matrix) -> sp.csr_matrix:
        """(k, V) the counts of documents added up in k groups.

        Args:
            members: (k, N) how often each document counts in each group.
        """
        used = distinct(members.indices)
        columns = np.searchsorted(used, members.indices)
        members = sp.csr_matrix((members.data, columns, members.indptr), (members.shape[0], len(used)))
        result = sp.csr_matrix(members @ self.rows(used))
        result.sort_indices()
        return result


class CountsWriter:
    """Writes ``counts.*.npy``, a block of documents at a time.

    Args:
        folder: is there.
        words: V.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with CountsWriter(Path(folder), 2) as writer:
        ...         for _ in range(2):
        ...             writer.add(sp.csr_matrix(np.array([[2, 1]])))
        ...     PackedCounts.load(Path(folder), (2, 2)).outer.matrix().toarray().tolist()
        [[2, 1], [2, 1]]
    """

    def __init__(self, folder: Path, words: int) -> None:
        self._packer = _Packer(words)
        types = (DOCUMENT, self._packer.bits, RARE)
        self._files = [
            ArrayWriter(folder / f"counts.{part}.npy", of) for part, of in zip(_PARTS, types, strict=True)
        ]

    def __enter__(self) -> CountsWriter:
        return self

    def add(self, outer: sp.csr_matrix, inner: sp.csr_matrix | None = None) -> None:
        """Append documents by their counts in both fields; see :meth:`PackedCounts.of`."""
        for arrays in self._packer.pack(outer, inner):
            self._append(arrays)

    def __exit__(self, *_: object) -> None:
        self._append(self._packer.end())
        for file in self._files:
            file.__exit__()

    def _append(self, arrays: tuple[NDArray[Any], ...]) -> None:
        for file, array in zip(self._files, arrays, strict=True):
            file.add(array)


def save_counts(folder: Path, outer: FieldCounts, inner: FieldCounts | None = None) -> None:
    """Write the counts of two fields of the same documents, or of one, into a folder."""
    if inner is not None and not outer.is_inner and inner.is_inner and outer.packed.equals(inner.packed):
        packed = outer.packed  # both fields are packed already, for example those of an opened index
        matrices.save_parts(folder, "counts", _PARTS, (packed.documents, packed.entries, packed.rare))
        return
    with CountsWriter(folder, outer.shape[1]) as writer:
        if inner is None:
            for block in outer.blocks():
                writer.add(block)
        else:
            for both in zip(outer.blocks(), inner.blocks(), strict=True):
                writer.add(*both)


class _Packer:
    """Packs documents in order."""

    def __init__(self, words: int) -> None:
        self.bits = np.dtype(np.uint32 if words <= SHORT else np.uint64)
        self._end = 0

    def pack(self, outer: sp.csr_matrix, inner: sp.csr_matrix | None) -> Iterator[tuple[NDArray[Any], ...]]:
        """The documents, their entries and the rare counts among them, :data:`BLOCK` documents at a time."""
        from cocite.retrieval.engines import document_kernels

        nothing = sp.csr_matrix(outer.shape, dtype=np.int32)
        fields = [_parts(field) for field in (outer, nothing if inner is None else inner)]
        for first in range(0, outer.shape[0], BLOCK):
            last = min(first + BLOCK, outer.shape[0])
            room = sum(int(indptr[last] - indptr[first]) for indptr, _, _ in fields)
            documents = np.empty(last - first, DOCUMENT)
            entries, rare = np.empty(room, self.bits), np.empty(room, RARE)
            count, rares = document_kernels.pack(*fields, first, last, entries, documents, rare)
            documents["start"] += self._end
            rare["at"][:rares] += self._end
            self._end += count
            yield documents, entries[:count].copy(), rare[:rares].copy()

    def end(self) -> tuple[NDArray[Any], ...]:
        """What stands behind the last document."""
        return np.array([(self._end, 0, 0)], DOCUMENT), np.empty(0, self.bits), np.empty(0, RARE)


def _parts(counts: sp.csr_matrix) -> tuple[NDArray[Any], ...]:
    """A matrix' arrays in the one form that is compiled for; words ascend in each row, and each stands there once."""
    if not counts.has_canonical_format:  # a product's rows are in no order
        counts = counts.copy()
        counts.sum_duplicates()
    arrays = (counts.indptr, np.int64), (counts.indices, np.int32), (counts.data, np.int32)
    return tuple(matrices.read_only(array.astype(of, copy=False)) for array, of in arrays)
