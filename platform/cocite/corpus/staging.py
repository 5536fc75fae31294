"""A staging area: records are cleaned, counted by the rules, and spilled to disk until all papers are known.

Papers go to ``papers.arrow`` batch by batch; their row is the order they come in. Links, contexts and sentences may
come before or after the papers they name, so they are spilled with 64-bit hashes of the ids, which
:mod:`cocite.corpus.resolver` turns into rows.

What grows in memory with the corpus is a table of ids (16 bytes a paper, twice that while runs are merged), the years
(2 bytes a paper), and 8 bytes a context to find repeated ids.
"""

from __future__ import annotations

import shutil
from array import array
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cocite.corpus.citation_sample import CitationSample, SampledCitation
from cocite.corpus.cleaning import Cleaner
from cocite.corpus.idtable import HashSet, IdTable
from cocite.corpus.records import (
    PAPERS,
    SPLITS,
    CitationRecord,
    ContextRecord,
    PaperRecord,
    Record,
    SentenceRecord,
    UnknownFields,
)
from cocite.corpus.rule_log import RuleLog
from cocite.corpus.rules import Limits
from cocite.corpus.spill import BatchWriter, PairFile, RowBuffer, SpillWriter, read_batches
from cocite.corpus.store import Corpus, id_hash
from cocite.corpus.streams import SourcePosition
from cocite.errors import InputError

PENDING = 2048
"""Papers kept until their ids are looked up together."""
CHUNK = 16384
"""Links or texts spilled at a time."""
HASHED_PAIR = np.dtype([("citing", "<u8"), ("cited", "<u8")])
CONTEXT_SPILL = pa.schema(
    [
        ("citing", pa.uint64()),
        ("cited", pa.list_(pa.uint64())),
        ("id", pa.string()),
        ("text", pa.string()),
        ("sentence", pa.int32()),
        ("section", pa.string()),
        ("group", pa.int32()),
        ("unresolved", pa.int32()),
        ("file", pa.int32()),
        ("line", pa.int64()),
    ]
)
"""A spilled context: hashes of the ids, its fields, and its source file (a position in ``files``) and line."""
SENTENCE_SPILL = pa.schema(
    [
        ("paper", pa.uint64()),
        ("position", pa.int32()),
        ("section", pa.string()),
        ("text", pa.string()),
        ("file", pa.int32()),
        ("line", pa.int64()),
    ]
)
"""A spilled sentence, likewise."""


class StagingArea:
    """Takes the records of a store one by one.

    Args:
        folder: an empty folder, which the store's files are written to.
        log: counts what the rules find.
        limits: what a field may hold.
        split: gives a paper's split by its year, in place of the source's.
        base: a store whose papers and context ids come first, under their present rows.
        bodies: keep body sentences.

    Attributes:
        scratch: the folder of the spilled files.
        table: the ids of the papers.
        years: the year of each paper.
        links: the citations that papers and citation records name, as ``HASHED_PAIR``.
        contexts: the contexts, as ``CONTEXT_SPILL``.
        sentences: the sentences, as ``SENTENCE_SPILL``.
        sample: some of the citations as text.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from cocite.corpus.records import CitationRecord, PaperRecord
        >>> from cocite.corpus.staging import StagingArea
        >>> from cocite.corpus.streams import SourcePosition
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     staging = StagingArea(Path(folder, "store"))
        ...     staging.add(CitationRecord("b", "a"), SourcePosition("links.jsonl", 1))  # before its papers
        ...     staging.add(PaperRecord("a", "A title"), SourcePosition("papers.jsonl", 1))
        ...     staging.add(PaperRecord("b", "", year=1999), SourcePosition("papers.jsonl", 2))
        ...     staging.close()
        ...     len(staging.table), staging.links.count, staging.log.counts["empty_title"]
        (1, 1, 1)
    """

    def __init__(
        self,
        folder: Path,
        *,
        log: RuleLog | None = None,
        limits: Limits | None = None,
        split: Callable[[int], str] | None = None,
        base: Corpus | None = None,
        bodies: bool = True,
    ) -> None:
        self.folder = Path(folder)
        self.scratch = self.folder / ".scratch"
        self.scratch.mkdir(parents=True)
        self.log = log or RuleLog()
        self.limits = limits or Limits()
        self.base, self.bodies = base, bodies
        self.table = IdTable()
        self.years = array("h")
        self.links = PairFile(self.scratch / "links.pairs", HASHED_PAIR)
        self.contexts = SpillWriter(self.scratch / "contexts.spill", CONTEXT_SPILL)
        self.sentences = SpillWriter(self.scratch / "sentences.spill", SENTENCE_SPILL)
        self.sample = CitationSample()
        self._papers = BatchWriter(self.folder / "papers.arrow", PAPERS)
        self._split = split
        self._cleaner = Cleaner(self.limits, self.log)
        self._pending: list[tuple[PaperRecord, str, int]] = []
        self._citing, self._cited = array("Q"), array("Q")
        self._context_rows = RowBuffer(CONTEXT_SPILL)
        self._sentence_rows = RowBuffer(SENTENCE_SPILL)
        self._context_ids = HashSet()
        self._file_numbers: dict[str, int] = {}
        self._last_hash = ("", 0)
        if base is not None:
            self._copy_papers(base)

    @property
    def files(self) -> Sequence[str]:
        """The source files of the spilled texts, by their number."""
        return list(self._file_numbers)

    @property
    def old_papers(self) -> int:
        """The number of papers of the base: rows below it are theirs."""
        return len(self.base) if self.base is not None else 0

    def add(self, record: Record, position: SourcePosition) -> None:
        """Stage one record.

        Args:
            record: may be changed by cleaning.
            position: where the record stands in its source; the caller may change it after the call.

        Raises:
            InputError: the record breaks a rule, and the log is strict.
        """
        try:
            if isinstance(record, SentenceRecord):
                self._add_sentence(record, position)
            elif isinstance(record, CitationRecord):
                self._add_link(record.citing.strip(), record.cited.strip(), position)
            elif isinstance(record, ContextRecord):
                self._add_context(record, position)
            elif isinstance(record, PaperRecord):
                self._add_paper(record, position)
            elif isinstance(record, UnknownFields):
                self.log.report_unknown_fields(record.kind, record.names, position, record.count)
            else:
                excerpt = record.excerpt[:200]
                self.log.report(record.rule, record.reason, position, field=record.field, excerpt=excerpt)
                self.log.add(record.rule, record.count - 1)
        except InputError:
            # A paper whose id is a repeated one may still wait to be looked up: it stands earlier in the source, and a
            # strict import names the first mistake.
            self._flush_papers()
            raise

    def close(self) -> None:
        """Spill what is still in memory and end the files."""
        self._flush_papers()
        self._flush_links()
        self._flush_contexts()
        self._flush_sentences()
        self._papers.close()
        self.contexts.close()
        self.sentences.close()
        self._context_ids = HashSet()  # its memory is wanted for what follows
        self.table.compact()

    def remove_scratch(self) -> None:
        """Remove the spilled files."""
        shutil.rmtree(self.scratch)

    # -- papers ---------------------------------------------------------------------------------------------

    def _copy_papers(self, base: Corpus) -> None:
        for batch in read_batches(base.path / "papers.arrow"):
            self.table.add(batch.column("id").to_pylist())
            self._papers.write(batch)
        self.years.frombytes(np.ascontiguousarray(base.years, np.int16).tobytes())
        for batch in read_batches(base.path / "contexts.arrow", ["id"]):
            self._context_ids.add(_process_hashes(batch.column(0).to_pylist()))

    def _add_paper(self, record: PaperRecord, position: SourcePosition) -> None:
        if self._cleaner.paper(record, position):
            self._pending.append((record, position.file, position.line))
            if len(self._pending) >= PENDING:
                self._flush_papers()

    def _flush_papers(self) -> None:
        if not self._pending:
            return
        pending, self._pending = self._pending, []
        new = self.table.add([record.id for record, _, _ in pending]).tolist()
        for (record, file, line), is_new in zip(pending, new, strict=True):
            if not is_new:
                reason = "an earlier paper has this id; the first is kept"
                self.log.report("duplicate_id", reason, SourcePosition(file, line), field="id", id=record.id)
        kept = [entry for entry, is_new in zip(pending, new, strict=True) if is_new]
        self._write_papers([record for record, _, _ in kept])
        for record, file, line in kept:
            position = SourcePosition(file, line)
            for cited in record.citations:
                self._add_link(record.id, cited.strip(), position)

    def _write_papers(self, records: list[PaperRecord]) -> None:
        self.years.extend(record.year for record in records)
        codes = [SPLITS.index(self._split(r.year) if self._split else r.split) for r in records]
        columns: list[Any] = [[getattr(r, name) for r in records] for name in PAPERS.names[:-1]]
        arrays = [
            pa.array(values, field.type) for values, field in zip([*columns, codes], PAPERS, strict=True)
        ]
        self._papers.write(pa.RecordBatch.from_arrays(arrays, schema=PAPERS))

    # -- links ----------------------------------------------------------------------------------------------

    def _add_link(self, citing: str, cited: str, position: SourcePosition) -> None:
        if not cited or not citing:
            reason = "a citation without an id"
            self.log.report("malformed", reason, position, field="citations", id=citing or cited)
            return
        if cited == citing:
            self.log.report("self_citation", "the paper cites itself", position, id=citing)
            return
        cited_hash = id_hash(cited)
        self._citing.append(self._hash(citing))
        self._cited.append(cited_hash)
        if self.sample.wants(cited_hash):
            self.sample.add(cited_hash, SampledCitation(citing, cited, position.file, position.line))
        if len(self._citing) >= CHUNK:
            self._flush_links()

    def _flush_links(self) -> None:
        if len(self._citing):
            self.links.write(np.array(self._citing, np.uint64), np.array(self._cited, np.uint64))
            self._citing, self._cited = array("Q"), array("Q")

    # -- texts ----------------------------------------------------------------------------------------------

    def _add_context(self, record: ContextRecord, position: SourcePosition) -> None:
        if not self._cleaner.context(record, position):
            return
        members = dict.fromkeys(text.strip() for text in record.cited)
        if record.citing in members:
            self.log.report("self_citation", "a context cites its own paper", position, id=record.id)
            del members[record.citing]
        self._context_rows.append(
            self._hash(record.citing.strip()),
            [id_hash(text) for text in members],
            record.id,
            record.text,
            record.sentence,
            record.section,
            record.group,
            record.unresolved,
            self._file_number(position.file),
            position.line,
        )
        # A strict import names a repeated id at once, before it reads on.
        if self.log.strict or len(self._context_rows) >= CHUNK:
            self._flush_contexts()

    def _flush_contexts(self) -> None:
        if not len(self._context_rows):
            return
        columns = self._context_rows.columns
        is_new = self._context_ids.add(_process_hashes(columns["id"]))
        files = self.files
        for i in np.flatnonzero(~is_new).tolist():
            position = SourcePosition(files[columns["file"][i]], columns["line"][i])
            reason = "an earlier context has this id; the first is kept"
            self.log.report("duplicate_context", reason, position, field="id", id=columns["id"][i])
        batch = self._context_rows.take()
        self.contexts.write(batch if is_new.all() else batch.filter(pa.array(is_new)))

    def _add_sentence(self, record: SentenceRecord, position: SourcePosition) -> None:
        if not self.bodies or not self._cleaner.sentence(record, position):
            return
        self._sentence_rows.append(
            self._hash(record.paper),
            record.position,
            record.section,
            record.text,
            self._file_number(position.file),
            position.line,
        )
        if len(self._sentence_rows) >= CHUNK:
            self._flush_sentences()

    def _flush_sentences(self) -> None:
        if len(self._sentence_rows):
            self.sentences.write(self._sentence_rows.take())

    def _hash(self, id_: str) -> int:
        # The texts and links of one paper mostly come together.
        if id_ != self._last_hash[0]:
            self._last_hash = (id_, id_hash(id_))
        return self._last_hash[1]

    def _file_number(self, file: str) -> int:
        return self._file_numbers.setdefault(file, len(self._file_numbers))


def _process_hashes(ids: Sequence[str]) -> NDArray[np.uint64]:
    """64-bit hashes of some ids that no other process gives: enough to find repeated ones, and far quicker to make."""
    return np.fromiter(map(hash, ids), np.int64, len(ids)).view(np.uint64)
