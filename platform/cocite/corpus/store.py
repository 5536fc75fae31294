"""The corpus store: Arrow files, memory-mapped, opened in an instant whatever their size.

A store is an artifact folder:

| file | holds |
| --- | --- |
| ``papers.arrow`` | one row a paper; its position is the paper's *row* |
| ``cites.*.npy``, ``cited_by.*.npy`` | the citations in both directions, compressed sparse rows |
| ``contexts.arrow`` | citation contexts, in order of the citing row |
| ``sentences.arrow``, ``sentences.indptr.npy`` | body sentences, in order of the paper's row |
| ``cocitations.*.npy`` | for each paper, the papers cited in the same contexts, and how often |
| ``ids.npy`` | (hash of id, row) sorted by hash: looks an id up without reading all of them |

The store in an index version may lack the two files of the body sentences
(:mod:`cocite.retrieval.index.stored_corpus`): all else is read as from the imported store.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cocite.array_files import scratch_array
from cocite.artifacts import check_sizes, load_array
from cocite.corpus.csr import CSR
from cocite.corpus.records import SPLITS, PaperRecord
from cocite.errors import InputError, NotFoundError
from cocite.manifests import Manifest, read_error, read_manifest
from cocite.verification import open_verified_once, verify_now

KIND = "corpus"
BODY_FILES = ("sentences.arrow", "sentences.indptr.npy")
"""The files of the body sentences."""
WHOLE = "version_with_bodies"
"""Key of the manifest's description in a store whose body sentences were left out: the version of the whole store."""
BATCH = 16384
"""Rows of every record batch but the last of an Arrow file, so that a row's batch is ``row // BATCH``."""
IN_MEMORY = 64 * BATCH
"""Rows of which a column, or lists, are held in memory."""
TAKEN = 4 * BATCH
"""Rows of a chunk of :meth:`ArrowFile.taken`."""


def id_hash(text: str) -> int:
    """A 64-bit hash of an id, the same in every process."""
    # "surrogatepass": JSON may hold half of a surrogate pair, which strict UTF-8 refuses.
    return int.from_bytes(
        hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little"
    )


def id_hashes(ids: Iterable[bytes]) -> NDArray[np.uint64]:
    """The hashes of some ids, given as UTF-8."""
    return np.frombuffer(b"".join([hashlib.blake2b(id_, digest_size=8).digest() for id_ in ids]), "<u8")


class ArrowFile:
    """A memory-mapped Arrow file of equal record batches.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> papers = starter_corpus().papers
        >>> len(papers), papers.take("year", [0, 1])
        (423, [1960, 1963])
    """

    def __init__(self, path: Path) -> None:
        try:
            self.table: pa.Table = pa.ipc.open_file(pa.memory_map(str(path), "r")).read_all()
        except (OSError, pa.ArrowInvalid) as error:
            raise read_error(error, path, "not a readable Arrow file") from error

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def column(self, name: str) -> NDArray[Any]:
        """A numeric column as one NumPy array (zero-copy when the file has one batch).

        Of more than :data:`IN_MEMORY` rows in several batches it lies in a file without a name, as :meth:`lists` do.
        """
        column = self.table.column(name)
        if column.num_chunks == 1:
            return column.chunk(0).to_numpy(zero_copy_only=True)  # type: ignore[no-any-return]
        if len(column) <= IN_MEMORY:
            return column.to_numpy()  # type: ignore[no-any-return]
        values, row = scratch_array(len(column), column.type.to_pandas_dtype()), 0
        for chunk in column.chunks:
            begin, row = row, row + len(chunk)
            values[begin:row] = chunk.to_numpy(zero_copy_only=False)
        return values

    def take(self, name: str, rows: Iterable[int] | NDArray[Any]) -> list[Any]:
        """Values of one column at some rows, in their order, as Python objects."""
        rows = np.asarray(list(rows) if not isinstance(rows, np.ndarray) else rows, np.int64)
        column = self.table.column(name)
        # A few rows are read faster one by one than sorted and taken by batch.
        if len(rows) < 16:
            return [column.chunk(row // BATCH)[row % BATCH].as_py() for row in rows.tolist()]
        values: list[Any] = self.taken(name, rows).to_pylist()
        return values

    def taken(self, name: str, rows: NDArray[np.integer[Any]]) -> pa.ChunkedArray:
        """(n,) values of one column at some rows, in their order, as an Arrow column of at least one chunk.

        Arrow's own take joins all batches of the column, and fails where these have 2 GiB of text.
        """
        column = self.table.column(name)
        starts = range(0, max(1, len(rows)), TAKEN)
        return pa.chunked_array(
            [_taken(column, rows[start : start + TAKEN]) for start in starts], column.type
        )

    def batches(self, name: str) -> Iterator[list[Any]]:
        """A column's values, one record batch at a time."""
        for chunk in self.table.column(name).chunks:
            yield chunk.to_pylist()

    def lists(self, name: str, first: int = 0, last: int | None = None) -> CSR:
        """A list<int32> column, or its rows ``first : last``, as compressed sparse rows.

        Of more than :data:`IN_MEMORY` rows the arrays lie in files without names: those of 10^7 papers' contexts take
        half a gigabyte in each process that asks for them.
        """
        rows = (len(self) if last is None else last) - first
        chunks = self.table.column(name).slice(first, rows).chunks
        make: Callable[[int, type], NDArray[Any]] = scratch_array if rows > IN_MEMORY else np.zeros
        indptr = make(rows + 1, np.int64)
        row = 0
        for chunk in chunks:
            begin, row = row, row + len(chunk)
            lengths = chunk.value_lengths().to_numpy(zero_copy_only=False)
            indptr[begin + 1 : row + 1] = indptr[begin] + np.cumsum(lengths, dtype=np.int64)
        indices = make(int(indptr[-1]), np.int32)
        entry = 0
        for chunk in chunks:
            values = chunk.flatten().to_numpy(zero_copy_only=False)
            begin, entry = entry, entry + len(values)
            indices[begin:entry] = values
        return CSR(indptr, indices)


def _taken(column: pa.ChunkedArray, rows: NDArray[np.integer[Any]]) -> pa.Array:
    """Values at some rows: one take from each batch that holds some of them, then back into the order of the rows."""
    if not len(rows):
        return pa.array([], column.type)
    order = np.argsort(rows, kind="stable")
    ordered = rows[order]
    cuts = np.flatnonzero(np.diff(ordered // BATCH)) + 1
    parts = [
        column.chunk(int(part[0] // BATCH)).take(pa.array(part % BATCH)) for part in np.split(ordered, cuts)
    ]
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return pa.concat_arrays(parts).take(pa.array(place))


class Corpus:
    """A corpus store, opened for reading. All arrays are memory-mapped and must not be written to.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> corpus = starter_corpus()  # or Corpus.open("corpus")
        >>> row = corpus.row("vaswani2017attention")
        >>> corpus.paper(row).title, int(corpus.years[row])
        ('Attention Is All You Need', 2017)
        >>> corpus.ids(corpus.cites[row][:3])  # papers that it cites
        ['marcus1993treebank', 'hochreiter1997long', 'graves2013generating']
    """

    def __init__(self, path: Path, manifest: Manifest) -> None:
        self.path = path
        self.manifest = manifest

    @classmethod
    def open(cls, path: str | Path, *, verified: bool = False) -> Corpus:
        """Open a store after checking that its files are undamaged; the first time on a machine all of it is read.

        Args:
            path: the store.
            verified: whether the caller has compared the files with their SHA-256, which is then not done again.
        """
        path = Path(path)
        if not verified:
            return cls(path, open_verified_once(path, kind=KIND))
        manifest = read_manifest(path, kind=KIND)
        check_sizes(path, manifest)
        return cls(path, manifest)

    @staticmethod
    def verify(path: str | Path) -> Manifest:
        """Check every file's SHA-256; a damaged one is named."""
        return verify_now(Path(path), kind=KIND)

    @property
    def version(self) -> str:
        """Fingerprint of the content: changes when anything in the corpus does.

        A store whose body sentences were left out has the version of the whole store that it was made of.
        """
        return str(self.manifest.meta.get(WHOLE, self.manifest.digest))

    @property
    def has_bodies(self) -> bool:
        """Whether the files of the body sentences are there; in an imported store they are, if perhaps empty."""
        return all(name in self.manifest.files for name in BODY_FILES)

    @property
    def counts(self) -> dict[str, Any]:
        """The counts of the import: records, links, and each rule's hits."""
        return dict(self.manifest.meta.get("counts", {}))

    def __len__(self) -> int:
        return len(self.papers)

    # -- papers ---------------------------------------------------------------------------------------------

    @cached_property
    def papers(self) -> ArrowFile:
        """The papers' columns."""
        return ArrowFile(self.path / "papers.arrow")

    @cached_property
    def years(self) -> NDArray[np.int16]:
        """(N,) year of each paper, 0 when unknown."""
        return self.papers.column("year")

    @cached_property
    def split(self) -> NDArray[np.int8]:
        """(N,) the split the source gave each paper, as an index into ``SPLITS``."""
        return self.papers.column("split")

    def paper(self, row: int) -> PaperRecord:
        """One paper, with the ids of what it cites."""
        return self.papers_at([row])[0]

    def papers_at(self, rows: Sequence[int] | NDArray[Any]) -> list[PaperRecord]:
        """Several papers, with the ids of what they cite."""
        get = {name: self.papers.take(name, rows) for name in ("id", "title", "abstract", "year", "venue")}
        get |= {name: self.papers.take(name, rows) for name in ("authors", "keyphrases", "doi", "split")}
        owner, entries = self.cites.gather(np.asarray(rows, np.int64))
        names = self.papers.take("id", entries)
        cuts = np.searchsorted(owner, np.arange(len(rows) + 1)).tolist()
        cited = [tuple(names[start:end]) for start, end in itertools.pairwise(cuts)]
        return [
            PaperRecord(
                id_, title, abstract, year, venue, tuple(authors), tuple(phrases), doi, SPLITS[split], ids
            )
            for id_, title, abstract, year, venue, authors, phrases, doi, split, ids in zip(
                *get.values(), cited, strict=True
            )
        ]

    def ids(self, rows: Sequence[int] | NDArray[Any]) -> list[str]:
        """Ids of some rows."""
        return self.papers.take("id", rows)

    @cached_property
    def _hashes(self) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
        # As two arrays: searching in a field of records would copy the field each time.
        entries = load_array(self.path / "ids.npy")
        return np.ascontiguousarray(entries["hash"]), np.ascontiguousarray(entries["row"])

    def find(self, ids: Sequence[str]) -> NDArray[np.int32]:
        """Rows of some ids, -1 for an unknown one."""
        hashes, rows = self._hashes
        if not len(hashes) or not len(ids):
            return np.full(len(ids), -1, np.int32)
        wanted = np.array([id_hash(text) for text in ids], np.uint64)
        entries = np.minimum(np.searchsorted(hashes, wanted), len(hashes) - 1)
        return np.where(hashes[entries] == wanted, rows[entries], -1).astype(np.int32)

    def row(self, id_: str) -> int:
        """Row of one id.

        Raises:
            NotFoundError: no paper has it.
        """
        row = int(self.find([id_])[0])
        if row < 0:
            raise NotFoundError(f"no paper has the id {id_!r}", where=str(self.path))
        return row

    # -- links ----------------------------------------------------------------------------------------------

    def _csr(self, name: str) -> CSR:
        return CSR(self._array(f"{name}.indptr"), self._array(f"{name}.indices"))

    def _array(self, name: str) -> NDArray[Any]:
        """One of the store's NumPy files, memory-mapped."""
        return load_array(self.path / f"{name}.npy")

    @cached_property
    def cites(self) -> CSR:
        """The papers that each paper cites."""
        return self._csr("cites")

    @cached_property
    def cited_by(self) -> CSR:
        """The papers that cite each paper."""
        return self._csr("cited_by")

    @cached_property
    def cocitations(self) -> tuple[CSR, NDArray[np.int32]]:
        """The papers that each paper is cited with in the same contexts, and how often (aligned with ``indices``).

        Counts come from all contexts; what may be known at a point in time is :meth:`History.cocitations`.
        """
        return self._csr("cocitations"), self._array("cocitations.counts")

    # -- texts ----------------------------------------------------------------------------------------------

    @cached_property
    def contexts(self) -> ArrowFile:
        """The contexts' columns."""
        return ArrowFile(self.path / "contexts.arrow")

    @cached_property
    def context_citing(self) -> NDArray[np.int32]:
        """(C,) the citing row of each context."""
        return self.contexts.column("citing")

    @cached_property
    def context_cited(self) -> CSR:
        """The rows that each context cites."""
        return self.contexts.lists("cited")

    @cached_property
    def sentences(self) -> ArrowFile:
        """The body sentences' columns; those of a row are ``sentence_indptr[row] : sentence_indptr[row + 1]``.

        Raises:
            InputError: an index version left them out.
        """
        self.require_bodies()
        return ArrowFile(self.path / "sentences.arrow")

    @cached_property
    def sentence_indptr(self) -> NDArray[np.int64]:
        """(N + 1,) where each paper's sentences begin.

        Raises:
            InputError: an index version left the sentences out.
        """
        self.require_bodies()
        return self._array("sentences.indptr")

    def require_bodies(self) -> None:
        """Refuse a store whose body sentences were left out.

        Raises:
            InputError: they were.
        """
        if not self.has_bodies:
            raise InputError(
                "holds no body sentences: the index was built without a model that reads them",
                where=str(self.path),
                hint="build the index with that model, or use the imported store",
            )
