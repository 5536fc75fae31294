"""A staging area: shares of records come together here, and are spilled to disk until all papers are known.

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

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cocite.corpus.citation_sample import CitationSample
from cocite.corpus.hits import StrictHitError
from cocite.corpus.idtable import HashSet, IdTable
from cocite.corpus.record_block import RecordBlock
from cocite.corpus.records import PAPERS, SPLITS, Record
from cocite.corpus.rule_log import RuleLog
from cocite.corpus.rules import Limits
from cocite.corpus.share import CONTEXT_SHARE, SENTENCE_SHARE, Share, ShareBuilder
from cocite.corpus.share_reports import kept_links, kept_rows, report_share, sample_citations
from cocite.corpus.spill import BatchWriter, PairFile, SpillWriter, read_batches
from cocite.corpus.store import Corpus
from cocite.corpus.streams import SourcePosition

HASHED_PAIR = np.dtype([("citing", "<u8"), ("cited", "<u8")])


def _spilled(schema: pa.Schema) -> pa.Schema:
    """The columns that the resolver needs."""
    return pa.schema([field for field in schema if field.name not in ("number", "sequence")])


CONTEXT_SPILL = _spilled(CONTEXT_SHARE)
"""A spilled context: hashes of the ids, its fields, and its source file (a position in ``files``) and line."""
SENTENCE_SPILL = _spilled(SENTENCE_SHARE)
"""A spilled sentence, likewise."""


class StagingArea:
    """Takes the records of a store, one by one or in shares.

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
        self._share = ShareBuilder(limits=self.limits, strict=self.log.strict, bodies=bodies)
        self._context_ids = HashSet()
        self._file_numbers: dict[str, int] = {}
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

    def add(self, record: Record | RecordBlock, position: SourcePosition) -> None:
        """Stage one record, or those of a block of lines.

        Args:
            record: may be changed by cleaning.
            position: where the record stands in its source; the caller may change it after the call.

        Raises:
            InputError: the record, or one shortly before it, breaks a rule, and the log is strict.
        """
        try:
            if isinstance(record, RecordBlock):
                self._share.add_block(record)
            else:
                self._share.add(record, position)
        except StrictHitError:
            # A paper whose id is a repeated one may stand earlier: a strict import names the first mistake.
            self.flush()
            raise
        if self._share.is_full:
            self.flush()

    def flush(self) -> None:
        """Stage the records that were added and are still in memory.

        Raises:
            InputError: one breaks a rule, and the log is strict.
        """
        if len(self._share):
            self.take(self._share.take())

    def take(self, share: Share) -> None:
        """Stage a share of the records: the next one in the order of the source.

        Raises:
            InputError: a record of it breaks a rule, and the log is strict.
        """
        papers, links = share.tables["papers"], share.tables["links"]
        contexts, sentences = share.tables["contexts"], share.tables["sentences"]
        is_new = self.table.add_hashed(
            papers["hash"].to_numpy(), papers["check"].to_numpy(), papers["id"].to_pylist
        )
        is_new_context = self._context_ids.add(_process_hashes(contexts["id"].to_pylist()))
        report_share(share, is_new, is_new_context, self.log)
        self._write_papers(kept_rows(papers, is_new))
        self._write_links(kept_rows(links, kept_links(links, is_new)), share.files)
        for table, writer, keep in (
            (contexts, self.contexts, is_new_context),
            (sentences, self.sentences, None),
        ):
            if table.num_rows:
                writer.write(self._spilled(table if keep is None else kept_rows(table, keep), share.files))

    def close(self) -> None:
        """Spill what is still in memory and end the files."""
        self.flush()
        self._papers.close()
        self.contexts.close()
        self.sentences.close()
        self._context_ids = HashSet()  # its memory is wanted for what follows
        self.table.compact()

    def remove_scratch(self) -> None:
        """Remove the spilled files."""
        shutil.rmtree(self.scratch)

    def _copy_papers(self, base: Corpus) -> None:
        for batch in read_batches(base.path / "papers.arrow"):
            self.table.add(batch.column("id").to_pylist())
            self._papers.write(batch)
        self.years.frombytes(np.ascontiguousarray(base.years, np.int16).tobytes())
        for batch in read_batches(base.path / "contexts.arrow", ["id"]):
            self._context_ids.add(_process_hashes(batch.column(0).to_pylist()))

    def _write_papers(self, papers: pa.RecordBatch) -> None:
        years = papers["year"].to_numpy()
        self.years.frombytes(np.ascontiguousarray(years, np.int16).tobytes())
        papers = papers.select(PAPERS.names)
        if self._split is not None:
            distinct, at = np.unique(years, return_inverse=True)
            codes = np.array([SPLITS.index(self._split(year)) for year in distinct.tolist()], np.int8)
            papers = papers.set_column(
                PAPERS.get_field_index("split"), PAPERS.field("split"), pa.array(codes[at])
            )
        self._papers.write(papers)

    def _write_links(self, links: pa.RecordBatch, files: Sequence[str]) -> None:
        sizes = links["cited"].value_lengths().to_numpy(zero_copy_only=False)
        owner = np.repeat(np.arange(links.num_rows), sizes)
        cited = links["cited"].flatten().to_numpy()
        self.links.write(links["citing"].to_numpy()[owner], cited)
        sample_citations(self.sample, links, files)

    def _spilled(self, texts: pa.RecordBatch, files: Sequence[str]) -> pa.RecordBatch:
        """The columns of texts that are spilled, with the numbers of files among all of the source."""
        numbers = np.array(
            [self._file_numbers.setdefault(f, len(self._file_numbers)) for f in files], np.int32
        )
        schema = _spilled(texts.schema)
        columns = [
            pa.array(numbers[texts["file"].to_numpy()]) if name == "file" else texts[name]
            for name in schema.names
        ]
        return pa.RecordBatch.from_arrays(columns, schema=schema)


def _process_hashes(ids: Sequence[str]) -> NDArray[np.uint64]:
    """64-bit hashes of some ids that no other process gives: enough to find repeated ones, and far quicker to make."""
    return np.fromiter(map(hash, ids), np.int64, len(ids)).view(np.uint64)
