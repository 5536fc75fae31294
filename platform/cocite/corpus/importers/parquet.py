"""A folder of Parquet files.

``papers.parquet`` (id, title, abstract, year, authors, venue; keyphrases, doi, split where there are any) is needed;
``citations.parquet`` (citing, cited), ``contexts.parquet`` (id, citing, cited, context, sentence, group, section,
n_unresolved, split) and ``sentences*.parquet`` (id, position, section, text) may be missing. Other columns are passed
over. Where papers have no ``split`` of their own, a citing paper takes that of its contexts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from cocite.corpus.idtable import IdTable
from cocite.corpus.importers.source import FieldError, Source, integer, text, texts
from cocite.corpus.records import (
    SPLITS,
    TARGET_MARK,
    CitationRecord,
    ContextRecord,
    Malformed,
    PaperRecord,
    Record,
    SentenceRecord,
)
from cocite.errors import InputError

ROWS = 8192
"""Rows read at a time."""


class NativeParquet(Source):
    """Papers, then citations, contexts and sentences."""

    format = "parquet"

    def __init__(self, path: Path) -> None:
        super().__init__(path if path.is_dir() else path.parent)
        if not (self.path / "papers.parquet").exists():
            raise InputError("holds no papers.parquet", where=str(self.path))
        names = ["papers.parquet", "citations.parquet", "contexts.parquet"]
        files = [self.path / name for name in names] + sorted(self.path.glob("sentences*.parquet"))
        self.files = [file for file in files if file.exists()]
        self.total = sum(file.stat().st_size for file in self.files)

    def __iter__(self) -> Iterator[Record]:
        self.done = 0
        for file in self.files:
            kind = file.name.split(".")[0].split("-")[0].rstrip("_0123456789")
            yield from {
                "papers": self._papers,
                "citations": self._citations,
                "contexts": self._contexts,
                "sentences": self._sentences,
            }[kind](file)

    def _papers(self, file: Path) -> Iterator[Record]:
        wanted = ["id", "title", "abstract", "year", "authors", "venue", "keyphrases", "doi", "split"]
        splits = _Splits(self.path / "contexts.parquet")
        return self._records(file, ["id", "title"], wanted, lambda row: _paper(row, splits))

    def _citations(self, file: Path) -> Iterator[Record]:
        names = ["citing", "cited"]
        return self._records(
            file, names, names, lambda row: CitationRecord(text(row, "citing"), text(row, "cited"))
        )

    def _contexts(self, file: Path) -> Iterator[Record]:
        needed = ["id", "citing", "cited", "context"]
        return self._records(
            file, needed, [*needed, "sentence", "group", "section", "n_unresolved"], _context
        )

    def _sentences(self, file: Path) -> Iterator[Record]:
        needed = ["id", "position", "text"]
        for batch in self._batches(file, needed, [*needed, "section"]):
            columns = [batch.column(name).to_pylist() for name in needed]
            has_section = "section" in batch.schema.names
            sections = batch.column("section").to_pylist() if has_section else [""] * batch.num_rows
            for id_, position, sentence, section in zip(*columns, sections, strict=True):
                self.place.line += 1
                yield SentenceRecord(str(id_ or ""), position or 0, sentence or "", section or "")

    def _records(
        self, file: Path, needed: list[str], wanted: list[str], make: Callable[[dict[str, Any]], Record]
    ) -> Iterator[Record]:
        for batch in self._batches(file, needed, wanted):
            for row in batch.to_pylist():
                self.place.line += 1
                try:
                    yield make(row)
                except FieldError as error:
                    yield Malformed(str(error), error.field)

    def _batches(self, file: Path, needed: list[str], wanted: list[str]) -> Iterator[pa.RecordBatch]:
        before = self.done
        self.place.file, self.place.line = file.name, 0
        try:
            with pq.ParquetFile(file) as reader:
                names = reader.schema_arrow.names
                for name in needed:
                    if name not in names:
                        raise InputError(f"lacks the column {name!r}", where=str(file))
                read, rows = 0, max(reader.metadata.num_rows, 1)
                for batch in reader.iter_batches(ROWS, columns=[name for name in wanted if name in names]):
                    yield batch
                    read += batch.num_rows
                    self.done = before + file.stat().st_size * read // rows
        except (pa.ArrowInvalid, OSError) as error:
            raise InputError(f"not a readable Parquet file: {error}", where=str(file)) from error


def _paper(row: dict[str, Any], splits: _Splits) -> PaperRecord:
    split = text(row, "split") if "split" in row else splits.of(row["id"])
    if split not in SPLITS:
        raise FieldError("split", "train, dev or test", split)
    return PaperRecord(
        id=text(row, "id"),
        title=text(row, "title"),
        abstract=text(row, "abstract"),
        year=integer(row, "year"),
        venue=text(row, "venue"),
        authors=texts(row, "authors"),
        keyphrases=texts(row, "keyphrases"),
        doi=text(row, "doi"),
        split=split,
    )


def _context(row: dict[str, Any]) -> ContextRecord:
    return ContextRecord(
        id=text(row, "id"),
        citing=text(row, "citing"),
        cited=texts(row, "cited"),
        text=text(row, "context").replace("[CIT]", TARGET_MARK),
        sentence=integer(row, "sentence", -1),
        section=text(row, "section"),
        group=integer(row, "group", -1),
        unresolved=integer(row, "n_unresolved"),
    )


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
        wanted = IdTable.hashes([str(id_)])[0]
        at = min(int(np.searchsorted(self._hashes, wanted)), len(self._hashes) - 1)
        return SPLITS[self._codes[at]] if self._hashes[at] == wanted else ""
