"""The papers of each author, surname and venue, looked up without a list of all names in memory.

Author names are compared as they are written, lower case and without white space around them; an author's surname is
the last word of that, if it is longer than two characters. Venues are compared as they are written.

A name is found by its 64-bit hash, as a paper's id is; by FNV-1a, because tens of millions of names take minutes by an
id's BLAKE2b. Two of 10^8 names have one hash once in 3,700 corpora, and a name that no paper has is taken for another
once in 10^11 look-ups: what would follow is a wrong count for that name, never an error.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cocite.corpus.csr import CSR
from cocite.corpus.store import Corpus
from cocite.errors import IntegrityError
from cocite.retrieval.engines.matrices import load_parts, read_only, save_parts

PARTS = ("hashes", "indptr", "papers")
PIECES = 16
"""Ranges of hashes that are sorted one after another, so that sorting takes little memory beside its result."""
SPACE = " \t\n\v\f\r\x1c\x1d\x1e\x1f"
"""What ``str.strip`` and ``str.split`` take for white space in ASCII."""
NONE = 0
"""Stands for the hash of a name that is empty; a name whose hash it is counts as empty, too."""


@dataclass(frozen=True)
class NameTable:
    """Names of one kind, numbered in the order of their hashes, and the papers of each.

    Attributes:
        hashes: (n,) uint64, ascending.
        papers: for each of the n names, the rows of its papers.

    Example:
        >>> table = NameTable.build(name_hashes(["li", "wang", "li"]), np.array([0, 0, 7], np.int32))
        >>> number = table.find(["li", "nobody"])
        >>> number[1], table.papers[number[0]].tolist()
        (np.int64(-1), [0, 7])
    """

    hashes: NDArray[np.uint64]
    papers: CSR

    @classmethod
    def build(cls, hashes: NDArray[np.uint64], papers: NDArray[np.int32]) -> NameTable:
        """The table of (name, paper) pairs, of which equal ones count once.

        Args:
            hashes: (m,) of the names; :data:`NONE` for pairs that are left out.
            papers: (m,) their rows; those of one name ascend.
        """
        names, starts, rows, count = [], [], [], 0
        piece_of = (hashes >> np.uint64(60)).astype(np.uint8)
        for piece in range(PIECES):
            chosen = np.flatnonzero(piece_of == piece)
            chosen = chosen[np.argsort(hashes[chosen], kind="stable")]
            own, of_own = hashes[chosen], papers[chosen]
            first = np.diff(own, prepend=np.uint64(NONE)) != 0
            distinct = (first | (np.diff(of_own, prepend=of_own[:1]) != 0)) & (own != NONE)
            own, of_own, first = own[distinct], of_own[distinct], first[distinct]
            names.append(own[first])
            starts.append(count + np.flatnonzero(first))
            rows.append(of_own)
            count += len(own)
        indptr = np.concatenate([*starts, [count]])
        return cls(np.concatenate(names), CSR(indptr, np.concatenate(rows)))

    def append(self, hashes: NDArray[np.uint64], papers: NDArray[np.int32]) -> NameTable:
        """The table with more (name, paper) pairs, whose papers stand behind all of its own."""
        present = np.repeat(self.hashes, self.papers.degrees)
        rows = np.concatenate([self.papers.indices, papers])
        return NameTable.build(np.concatenate([present, hashes]), rows)

    def find(self, names: Sequence[str]) -> NDArray[np.int64]:
        """(k,) the numbers of some names, -1 for an unknown one."""
        if not len(self.hashes) or not len(names):
            return np.full(len(names), -1, np.int64)
        wanted = name_hashes(names)
        found = np.minimum(np.searchsorted(self.hashes, wanted), len(self.hashes) - 1)
        return np.where(self.hashes[found] == wanted, found, -1).astype(np.int64)

    def save(self, folder: Path, name: str) -> None:
        """Write the arrays into an existing folder, as ``<name>.*.npy``."""
        save_parts(folder, name, PARTS, (self.hashes, self.papers.indptr, self.papers.indices))

    @classmethod
    def load(cls, folder: Path, name: str) -> NameTable:
        """Memory-map what :meth:`save` wrote.

        Raises:
            IntegrityError: an array is missing or not readable, or they do not fit together.
        """
        hashes, indptr, papers = map(read_only, load_parts(folder, name, PARTS))
        if len(indptr) != len(hashes) + 1 or indptr[-1] != len(papers):
            raise IntegrityError(
                f"the arrays of {name} do not fit together", where=str(folder), hint="build the index again"
            )
        return cls(hashes, CSR(indptr, papers))


class NameTables:
    """The tables of a corpus' authors, surnames and venues: opened, or made when they are first asked for.

    Args:
        corpus: the papers.
        base: the tables of a corpus that this one begins with, whose papers are then not read again.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> corpus = starter_corpus()
        >>> authors = NameTables(corpus).authors
        >>> corpus.ids(authors.papers[authors.find(["j. l. kuhns"])[0]])
        ['maron1960relevance']
    """

    def __init__(self, corpus: Corpus, base: NameTables | None = None) -> None:
        self.corpus = corpus
        self._base = base
        self._tables: dict[str, NameTable] = {}

    @property
    def authors(self) -> NameTable:
        """By the authors' names."""
        return self._table("authors")

    @property
    def surnames(self) -> NameTable:
        """By the surnames of authors."""
        return self._table("surnames")

    @property
    def venues(self) -> NameTable:
        """By the venues."""
        return self._table("venues")

    def save(self, folder: Path) -> None:
        """Write the tables into a new folder."""
        folder.mkdir(parents=True)
        for name in ("authors", "surnames", "venues"):
            self._table(name).save(folder, name)

    @classmethod
    def open(cls, folder: Path, corpus: Corpus) -> NameTables:
        """Open what :meth:`save` wrote; the arrays are memory-mapped.

        An earlier cocite wrote no tables: where there is no folder they are made when they are first asked for.

        Raises:
            IntegrityError: a table is not readable.
        """
        tables = cls(corpus)
        if not folder.is_dir():
            return tables
        tables._tables = {name: NameTable.load(folder, name) for name in ("authors", "surnames", "venues")}
        return tables

    def _table(self, name: str) -> NameTable:
        if name not in self._tables:
            self._make(
                *(("venue", ("venues",)) if name == "venues" else ("authors", ("authors", "surnames")))
            )
        return self._tables[name]

    def _make(self, column: str, kinds: Sequence[str]) -> None:
        """Make the tables of one column of the papers, in one pass over it."""
        start = len(self._base.corpus) if self._base is not None else 0
        values = self.corpus.papers.table[column].slice(start)
        size = sum(_size(chunk) for chunk in values.chunks)
        papers, hashes = np.empty(size, np.int32), {name: np.empty(size, np.uint64) for name in kinds}
        end = 0
        for rows, names, written in _distinct(values, start):
            part, end = slice(end, end + len(rows)), end + len(rows)
            papers[part] = rows
            for name, of_written in _hashes_by_kind(written, kinds).items():
                hashes[name][part] = of_written[names]
        for name in kinds:
            new = hashes.pop(name)[:end], papers[:end]
            made = NameTable.build(*new) if self._base is None else self._base._table(name).append(*new)
            self._tables[name] = made


def name_hashes(names: Sequence[str]) -> NDArray[np.uint64]:
    """(n,) the hashes of some names, :data:`NONE` for empty ones.

    Example:
        >>> hex(name_hashes(["a"])[0]), int(name_hashes([""])[0])
        ('0xaf63dc4c8601ec8c', 0)
    """
    # "surrogatepass": JSON may hold half of a surrogate pair, which strict UTF-8 refuses.
    encoded = [name.encode("utf-8", "surrogatepass") for name in names]
    offsets = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    return _hashes(offsets, np.frombuffer(b"".join(encoded), np.uint8))


def _hashes(offsets: NDArray[Any], data: NDArray[np.uint8]) -> NDArray[np.uint64]:
    from cocite.retrieval.engines import kernels  # Numba takes half a second to import

    hashes: NDArray[np.uint64] = kernels.hash_texts(read_only(offsets.astype(np.int64)), read_only(data))
    hashes[offsets[1:] == offsets[:-1]] = NONE
    return hashes


def _hashes_by_kind(written: pa.Array, kinds: Sequence[str]) -> dict[str, NDArray[np.uint64]]:
    """(n,) the hashes of strings as names of each kind."""
    if kinds == ("venues",):
        return {"venues": _arrow_hashes(written)}
    # Arrow knows another edition of Unicode than Python, which lowers the queries' names, and no final sigma.
    plain = pc.string_is_ascii(written)
    others = [name.strip().lower() for name in written.filter(pc.invert(plain)).to_pylist()]
    last = [name.split()[-1] if name else "" for name in others]
    lower = pc.ascii_lower(pc.ascii_trim(written.filter(plain), SPACE))
    surnames = pc.replace_substring_regex(lower, pattern=f"(?s)^.*[{SPACE}]", replacement="")
    surnames = pc.if_else(pc.greater(pc.binary_length(surnames), 2), surnames, "")
    result = {name: np.empty(len(written), np.uint64) for name in kinds}
    where = plain.to_numpy(zero_copy_only=False)
    result["authors"][where], result["authors"][~where] = _arrow_hashes(lower), name_hashes(others)
    result["surnames"][where] = _arrow_hashes(surnames)
    result["surnames"][~where] = name_hashes([word if len(word) > 2 else "" for word in last])
    return result


def _arrow_hashes(strings: pa.Array) -> NDArray[np.uint64]:
    """(n,) the hashes of an array of strings, none of which is null."""
    strings = strings.cast(pa.large_string())
    _, offsets, data = strings.buffers()
    if not len(strings):  # Arrow leaves out the buffers then
        return np.zeros(0, np.uint64)
    bounds = np.frombuffer(offsets, np.int64)[strings.offset : strings.offset + len(strings) + 1]
    return _hashes(bounds, np.frombuffer(data or b"", np.uint8))


def _size(chunk: pa.Array) -> int:
    return len(chunk.flatten()) if pa.types.is_list(chunk.type) else len(chunk)


def _distinct(
    column: pa.ChunkedArray, start: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], pa.Array]]:
    """The strings of a column of strings, or of lists of them, chunk by chunk, each distinct one of a chunk once.

    Args:
        column: of papers.
        start: the row of the first.

    Yields:
        ``(papers, names, written)``: paper ``papers[i]`` has the string ``written[names[i]]``; papers ascend.
    """
    for chunk in column.chunks:
        papers, strings = np.arange(start, start + len(chunk)), chunk
        if pa.types.is_list(chunk.type):
            lengths = pc.fill_null(pc.list_value_length(chunk), 0).to_numpy(zero_copy_only=False)
            papers, strings = np.repeat(papers, lengths), chunk.flatten()
        start += len(chunk)
        codes = strings.dictionary_encode()
        present = codes.is_valid().to_numpy(zero_copy_only=False)
        names = codes.indices.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
        yield papers[present], names[present], codes.dictionary
