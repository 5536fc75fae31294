"""A share of a source's records as columns: cleaned, with hashes for ids, and with the hits of rules.

A share needs no other record of its source, so the shares of a source can be made side by side. What needs all of
them, such as which paper has a repeated id, is looked at where they come together
(:class:`~cocite.corpus.staging.StagingArea`).
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from cocite.corpus.cleaning import Cleaner
from cocite.corpus.hits import Hit, ShareLog
from cocite.corpus.record_block import RecordBlock
from cocite.corpus.records import (
    PAPERS,
    SPLITS,
    CitationRecord,
    ContextRecord,
    NumberedId,
    PaperRecord,
    Record,
    SentenceRecord,
    UnknownFields,
)
from cocite.corpus.rules import Limits
from cocite.corpus.share_blocks import BlockTables
from cocite.corpus.store import id_hash
from cocite.corpus.streams import SourcePosition

RECORDS = 8192
"""Records of a share, unless it is full before."""
LINKS = 1 << 18
"""Links that fill a share."""
HITS = 1 << 15
"""Hits of rules that fill a share."""
HASHES = 1 << 17
"""Ids whose hashes are kept: papers that are cited are mostly cited again soon."""

_PLACE = [("sequence", pa.int32()), ("file", pa.int32()), ("line", pa.int64())]
"""Of a record: its place in the share, its file (a position in ``files``) and its line."""
PAPER_SHARE = pa.schema([*PAPERS, ("hash", pa.uint64()), ("check", pa.uint32()), *_PLACE])
"""Papers, with the hash and the checksum of their ids."""
LINK_SHARE = pa.schema(
    [
        ("citing", pa.uint64()),
        ("citing_id", pa.binary()),
        ("cited", pa.list_(pa.uint64())),
        ("cited_ids", pa.list_(pa.binary())),
        ("owner", pa.int32()),
        *_PLACE,
    ]
)
"""The links that one record gives, and the row in the share of the paper that gives them, -1 for a citation record."""
CONTEXT_SHARE = pa.schema(
    [
        ("citing", pa.uint64()),
        ("cited", pa.list_(pa.uint64())),
        ("id", pa.string()),
        ("text", pa.string()),
        ("sentence", pa.int32()),
        ("section", pa.string()),
        ("group", pa.int32()),
        ("unresolved", pa.int32()),
        ("number", pa.int64()),
        *_PLACE,
    ]
)
"""Contexts, with hashes of the ids of papers."""
SENTENCE_SHARE = pa.schema(
    [
        ("paper", pa.uint64()),
        ("position", pa.int32()),
        ("section", pa.string()),
        ("text", pa.string()),
        *_PLACE,
    ]
)
"""Sentences, likewise."""
TABLES = {
    "papers": PAPER_SHARE,
    "links": LINK_SHARE,
    "contexts": CONTEXT_SHARE,
    "sentences": SENTENCE_SHARE,
}
"""Table of a share -> its columns."""


@dataclass
class Share:
    """A share of a source's records.

    Attributes:
        tables: record batches by the names of ``TABLES``.
        files: names of the source's files, which the tables give by their position here.
        hits: of the rules, in the order of the records.

    Example:
        >>> from cocite.corpus.records import PaperRecord
        >>> from cocite.corpus.share import ShareBuilder
        >>> from cocite.corpus.streams import SourcePosition
        >>> builder = ShareBuilder()
        >>> builder.add(PaperRecord("b", "A title", citations=("a", "b")), SourcePosition("papers.jsonl", 1))
        >>> share = builder.take()
        >>> share.tables["papers"]["id"].to_pylist(), share.tables["links"]["cited_ids"].to_pylist()
        (['b'], [[b'a']])
        >>> [(hit.rule, share.files) for hit in share.hits]
        [('self_citation', ['papers.jsonl'])]
    """

    tables: dict[str, pa.RecordBatch]
    files: list[str]
    hits: list[Hit]


class ShareBuilder:
    """Cleans records and collects them.

    Args:
        limits: what a field may hold.
        strict: raise at the first record that is bad by itself.
        bodies: keep body sentences; without, they are left out, unexamined.

    Attributes:
        numbers: number of contexts so far that the source gives no id.

    Example:
        >>> from cocite.corpus.records import ContextRecord
        >>> from cocite.corpus.share import ShareBuilder
        >>> from cocite.corpus.streams import SourcePosition
        >>> builder = ShareBuilder()
        >>> for number, text in enumerate(("as TARGETCIT says", "")):
        ...     builder.add(ContextRecord(f"b/{number}", "b", ("a",), text), SourcePosition("x.jsonl", 1 + number))
        >>> share = builder.take()
        >>> share.tables["contexts"]["id"].to_pylist(), share.hits[0].rule, len(builder)
        (['b/0'], 'empty_context', 0)
    """

    def __init__(self, *, limits: Limits | None = None, strict: bool = False, bodies: bool = True) -> None:
        self.log = ShareLog(strict=strict)
        self.bodies = bodies
        self.numbers = 0
        self._cleaner = Cleaner(limits or Limits(), self.log)
        self._hashes: dict[str, int] = {}
        self._clear()

    def _clear(self) -> None:
        self._records = self._links = 0
        self._rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in TABLES}
        self._blocks: BlockTables | None = None
        self._files: dict[str, int] = {}

    def __len__(self) -> int:
        return self._records

    @property
    def is_full(self) -> bool:
        """Whether the share is to be taken before the next record."""
        return self._records >= RECORDS or self._links >= LINKS or len(self.log.hits) >= HITS

    def add(self, record: Record, position: SourcePosition) -> None:
        """Put a record in.

        Args:
            record: may be changed by cleaning.
            position: where the record stands in its source; the caller may change it after the call.

        Raises:
            StrictHitError: the record breaks a rule, and the import is strict.
        """
        log = self.log
        log.sequence, log.number = self._records, -1
        self._records += 1
        if isinstance(record, ContextRecord):
            if isinstance(record.id, NumberedId):
                log.number, self.numbers = record.id.number, record.id.number + 1
            self._add_context(record, position)
        elif isinstance(record, SentenceRecord):
            self._add_sentence(record, position)
        elif isinstance(record, PaperRecord):
            self._add_paper(record, position)
        elif isinstance(record, CitationRecord):
            self._add_links(record.citing.strip(), (record.cited,), -1, position)
        elif isinstance(record, UnknownFields):
            log.report_unknown_fields(record.kind, record.names, position, record.count)
        else:
            excerpt = record.excerpt[:200]
            log.report(record.rule, record.reason, position, field=record.field, excerpt=excerpt)
            if record.count > 1:
                log.count(record.rule, record.count - 1)

    def add_block(self, block: RecordBlock) -> None:
        """Put the records of a block of lines in.

        Raises:
            StrictHitError: a record breaks a rule, and the import is strict; those before it are in.
        """
        first = self._records

        def read_line(line: int, place: int, number: int) -> tuple[int, int]:
            self._records, self.numbers = place, number
            position = SourcePosition(block.file, block.first_line + line)
            for record in block.read(line, number):
                self.add(record, position)
            return self._records - place, self.numbers - number

        self._blocks = self._blocks or BlockTables(TABLES)
        file = self._file(block.file)
        records, links = self._blocks.add(
            block, self._cleaner.limits, file=file, records=first, read_line=read_line
        )
        self._records, self.numbers = first + records, block.number
        self._links += links

    def take(self) -> Share:
        """The share; the builder is empty afterwards."""
        tables, hits = (
            {name: _batch(rows, TABLES[name]) for name, rows in self._rows.items()},
            self.log.take(),
        )
        if self._blocks is not None:
            tables = self._blocks.merged(tables, hits)
        share = Share(tables, list(self._files), hits)
        self._clear()
        return share

    def _add_paper(self, record: PaperRecord, position: SourcePosition) -> None:
        if not self._cleaner.paper(record, position):
            return
        rows, id_ = self._rows["papers"], record.id
        rows.append(
            (
                id_,
                record.title,
                record.abstract,
                record.year,
                record.venue,
                record.authors,
                record.keyphrases,
                record.doi,
                SPLITS.index(record.split),
                self._hash(id_),
                zlib.crc32(id_.encode()),
                self.log.sequence,
                self._file(position.file),
                position.line,
            )
        )
        if record.citations:
            self.log.owner = len(rows) - 1
            try:
                self._add_links(id_, record.citations, len(rows) - 1, position)
            finally:
                self.log.owner = -1

    def _add_links(self, citing: str, cited: Sequence[str], owner: int, position: SourcePosition) -> None:
        ids = [text.strip() for text in cited]
        if not citing or "" in ids or citing in ids:
            ids = [text for text in ids if self._is_link(citing, text, position)]
        if not ids:
            return
        self._links += len(ids)
        self._rows["links"].append(
            (
                self._hash(citing),
                citing,
                [self._hash(text) for text in ids],
                ids,
                owner,
                self.log.sequence,
                self._file(position.file),
                position.line,
            )
        )

    def _is_link(self, citing: str, cited: str, position: SourcePosition) -> bool:
        if not cited or not citing:
            reason = "a citation without an id"
            self.log.report("malformed", reason, position, field="citations", id=citing or cited)
        elif cited == citing:
            self.log.report("self_citation", "the paper cites itself", position, id=citing)
        return bool(cited and citing) and cited != citing

    def _add_context(self, record: ContextRecord, position: SourcePosition) -> None:
        if not self._cleaner.context(record, position):
            return
        members = dict.fromkeys([text.strip() for text in record.cited])
        if record.citing in members:
            self.log.report("self_citation", "a context cites its own paper", position, id=record.id)
            del members[record.citing]
        self._rows["contexts"].append(
            (
                self._hash(record.citing.strip()),
                [self._hash(text) for text in members],
                record.id,
                record.text,
                record.sentence,
                record.section,
                record.group,
                record.unresolved,
                self.log.number,
                self.log.sequence,
                self._file(position.file),
                position.line,
            )
        )

    def _add_sentence(self, record: SentenceRecord, position: SourcePosition) -> None:
        if not self.bodies or not self._cleaner.sentence(record, position):
            return
        self._rows["sentences"].append(
            (
                self._hash(record.paper),
                record.position,
                record.section,
                record.text,
                self.log.sequence,
                self._file(position.file),
                position.line,
            )
        )

    def _hash(self, id_: str) -> int:
        value = self._hashes.get(id_)
        if value is None:
            if len(self._hashes) >= HASHES:
                self._hashes.clear()
            value = self._hashes[id_] = id_hash(id_)
        return value

    def _file(self, file: str) -> int:
        return self._files.setdefault(file, len(self._files))


def _batch(rows: list[tuple[Any, ...]], schema: pa.Schema) -> pa.RecordBatch:
    columns: list[Any] = list(zip(*rows, strict=True)) if rows else [()] * len(schema)
    arrays = [_array(values, field.type) for values, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _array(values: Sequence[Any], type_: pa.DataType) -> pa.Array:
    if pa.types.is_list(type_):
        # Twice as fast as having Arrow look into every list.
        offsets = np.zeros(len(values) + 1, np.int32)
        np.cumsum([len(value) for value in values], out=offsets[1:])
        flat = [item for value in values for item in value]
        return pa.ListArray.from_arrays(pa.array(offsets), _array(flat, type_.value_type))
    if pa.types.is_uint64(type_):
        return pa.array(np.fromiter(values, np.uint64, len(values)))
    try:
        return pa.array(values, type_)
    except UnicodeEncodeError:
        # An id of the links may hold half of a surrogate pair; the texts that are stored were repaired before.
        return pa.array([text.encode("utf-8", "surrogatepass") for text in values], type_)
