"""A folder of Parquet files.

``papers.parquet`` is needed; ``citations.parquet``, ``contexts.parquet`` and ``sentences*.parquet`` may be missing.
Their columns are the fields of :mod:`cocite.corpus.fields`, but for ``n_unresolved`` and ``split`` of contexts and
``id``, the paper, of sentences. Other columns are counted and otherwise passed over. Where papers have no ``split`` of
their own, a citing paper takes that of its contexts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cocite.corpus.fields import CITATION, CONTEXT, PAPER, SENTENCE
from cocite.corpus.idtable import IdTable
from cocite.corpus.importers.native_fields import context_of, read_fields
from cocite.corpus.importers.parts import SourcePart
from cocite.corpus.importers.record_reading import citations_of, read_records
from cocite.corpus.importers.source import Source
from cocite.corpus.records import SPLITS, Malformed, PaperRecord, Record, SentenceRecord, UnknownFields
from cocite.errors import InputError

ROWS = 8192
"""Rows read at a time."""


class NativeParquet(Source):
    """Papers, then citations, contexts and sentences.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> import pyarrow as pa
        >>> import pyarrow.parquet as pq
        >>> from cocite.corpus.importers.parquet import NativeParquet
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     pq.write_table(pa.table({"id": ["a", "b"], "title": ["A", "B"]}), Path(folder, "papers.parquet"))
        ...     pq.write_table(pa.table({"citing": ["b"], "cited": ["a"]}), Path(folder, "citations.parquet"))
        ...     for record in NativeParquet(Path(folder)):
        ...         print(type(record).__name__)
        PaperRecord
        PaperRecord
        CitationRecord
    """

    format = "parquet"

    def __init__(self, path: Path) -> None:
        super().__init__(path if path.is_dir() else path.parent)
        present = sorted(self.path.glob("*.parquet"))
        if not (self.path / "papers.parquet").exists():
            raise InputError(
                "holds no papers.parquet",
                where=str(self.path),
                hint=f"there is {', '.join(file.name for file in present[:5])}" if present else None,
            )
        names = ["papers.parquet", "citations.parquet", "contexts.parquet"]
        files = [self.path / name for name in names] + sorted(self.path.glob("sentences*.parquet"))
        self.files = [file for file in files if file.exists()]
        self._others = [file for file in present if file not in self.files]
        self.total = sum(file.stat().st_size for file in self.files)
        self._groups: tuple[int, int | None] = (0, None)
        self._splits: _Splits | None = None

    def __iter__(self) -> Iterator[Record]:
        self.done = 0
        yield from self._unread()
        for file in self.files:
            yield from self._read(file)

    def parts(self, size: int) -> list[SourcePart]:
        """Runs of row groups of the files."""
        result = []
        for number, file in enumerate(self.files):
            with _opened(file) as reader:
                groups = reader.metadata.num_row_groups
            total = file.stat().st_size
            step = max(1, groups * size // max(total, 1))
            for first in range(0, max(groups, 1), step):
                last = min(first + step, groups)
                result.append(SourcePart(number, first, last, total * (last - first) // max(groups, 1)))
        return result

    def read_part(self, part: SourcePart) -> Iterator[Record]:
        """The records of a run of row groups."""
        self.done = 0
        if part.is_first:
            yield from self._unread()
        yield from self._read(self.files[part.file], part.first, part.last)

    def _unread(self) -> Iterator[Record]:
        for file in self._others:
            self.position.file, self.position.line = file.name, 0
            yield Malformed("the file is not read", rule="unread_file")

    def _read(self, file: Path, first: int = 0, last: int | None = None) -> Iterator[Record]:
        kind = file.name.split(".")[0].split("-")[0].rstrip("_0123456789")
        read = {
            "papers": self._papers,
            "citations": self._citations,
            "contexts": self._contexts,
            "sentences": self._sentences,
        }[kind]
        self._groups = (first, last)
        yield from read(file)

    def _papers(self, file: Path) -> Iterator[Record]:
        if self._splits is None:
            self._splits = _Splits(self.path / "contexts.parquet")
        return self._records(file, "paper", ["id", "title"], _PAPERS, partial(_paper, self._splits))

    def _citations(self, file: Path) -> Iterator[Record]:
        return self._records(file, "citation", list(CITATION), set(CITATION), _citation)

    def _contexts(self, file: Path) -> Iterator[Record]:
        return self._records(file, "context", ["id", "citing", "cited", "context"], _CONTEXTS, _context)

    def _sentences(self, file: Path) -> Iterator[Record]:
        yield from self._unknown(file, "sentence", _SENTENCES)
        types = {"id": pa.string(), "position": pa.int32(), "text": pa.string(), "section": pa.string()}
        for batch in self._batches(file, ["id", "position", "text"], _SENTENCES):
            # By columns: a corpus has a hundred sentences a paper.
            with _naming(file):
                columns = [
                    batch.column(name).cast(type_).to_pylist()
                    if name in batch.schema.names
                    else [""] * batch.num_rows
                    for name, type_ in types.items()
                ]
            for id_, position, sentence, section in zip(*columns, strict=True):
                self.position.line += 1
                yield SentenceRecord(id_ or "", position or 0, sentence or "", section or "")

    def _records(
        self,
        file: Path,
        kind: str,
        needed: list[str],
        known: set[str],
        make: Callable[..., Iterator[Record]],
    ) -> Iterator[Record]:
        yield from self._unknown(file, kind, known)
        for batch in self._batches(file, needed, known):
            for row in batch.to_pylist():
                self.position.line += 1
                unknown: list[str] = []
                # A row is not quoted: its values need not have a form in JSON.
                yield from read_records(row, partial(make, unknown=unknown), quote=False)
                if unknown:
                    yield UnknownFields(kind, tuple(unknown))

    def _unknown(self, file: Path, kind: str, known: set[str]) -> Iterator[UnknownFields]:
        """The columns that are not read, each once for all rows."""
        self.position.file, self.position.line = file.name, 0
        with _opened(file) as reader:
            names = [name for name in reader.schema_arrow.names if name not in known]
            if names and self._groups[0] == 0:
                yield UnknownFields(kind, tuple(names), reader.metadata.num_rows)

    def _batches(self, file: Path, needed: list[str], known: set[str]) -> Iterator[pa.RecordBatch]:
        before = self.done
        self.position.file, self.position.line = file.name, 0
        with _opened(file) as reader:
            names = reader.schema_arrow.names
            for name in needed:
                if name not in names:
                    raise InputError(f"lacks the column {name!r}", where=str(file))
            first, last = self._groups
            last = reader.metadata.num_row_groups if last is None else last
            self.position.line = sum(reader.metadata.row_group(i).num_rows for i in range(first))
            read, rows = 0, max(reader.metadata.num_rows, 1)
            columns = [name for name in names if name in known]
            for batch in reader.iter_batches(ROWS, row_groups=list(range(first, last)), columns=columns):
                yield batch
                read += batch.num_rows
                self.done = before + file.stat().st_size * read // rows


_PAPERS = set(PAPER) - {"contexts", "sentences"}
_CONTEXTS = set(CONTEXT) | {"n_unresolved", "split"}
_SENTENCES = set(SENTENCE) - {"paper"} | {"id"}


@contextmanager
def _naming(file: Path) -> Iterator[None]:
    """Name the file where Arrow cannot read it."""
    try:
        yield
    except (pa.lib.ArrowException, OSError) as error:
        raise InputError(f"not a readable Parquet file: {error}", where=str(file)) from error


@contextmanager
def _opened(file: Path) -> Iterator[pq.ParquetFile]:
    with _naming(file), pq.ParquetFile(file) as reader:
        yield reader


def _paper(splits: _Splits, row: dict[str, Any], unknown: list[str]) -> Iterator[Record]:
    if "split" not in row:
        row["split"] = splits.of(row["id"])
    yield PaperRecord(**read_fields("paper", row, unknown))


def _citation(row: dict[str, Any], unknown: list[str]) -> Iterator[Record]:
    yield from citations_of(read_fields("citation", row, unknown))


def _context(row: dict[str, Any], unknown: list[str]) -> Iterator[Record]:
    row.pop("split", None)
    if "n_unresolved" in row:
        row["unresolved"] = row.pop("n_unresolved")
    yield context_of({"id": ""} | read_fields("context", row, unknown))


class _Splits:
    """The split of each citing paper, as its contexts give it: nine bytes a paper."""

    def __init__(self, contexts: Path) -> None:
        self._hashes = np.empty(0, np.uint64)
        self._codes = np.empty(0, np.int8)
        if not contexts.exists():
            return
        with pq.ParquetFile(contexts) as reader:
            if "split" not in reader.schema_arrow.names:
                return
            for batch in reader.iter_batches(1 << 16, columns=["citing", "split"]):
                # Contexts stand paper by paper: one hash for each run of them.
                citing, splits = batch.column("citing").to_pylist(), batch.column("split").to_pylist()
                starts = [i for i, id_ in enumerate(citing) if i == 0 or id_ != citing[i - 1]]
                hashes = IdTable.hashes([str(citing[i]) for i in starts])
                codes = [SPLITS.index(splits[i]) if splits[i] in SPLITS else 0 for i in starts]
                hashes = np.concatenate([self._hashes, hashes])
                self._hashes, first = np.unique(hashes, return_index=True)
                self._codes = np.concatenate([self._codes, np.array(codes, np.int8)])[first]

    def of(self, id_: object) -> str:
        """The split of a paper, empty when it has no contexts."""
        if not len(self._hashes):
            return ""
        id_hash = IdTable.hashes([str(id_)])[0]
        at = min(int(np.searchsorted(self._hashes, id_hash)), len(self._hashes) - 1)
        return SPLITS[self._codes[at]] if self._hashes[at] == id_hash else ""
