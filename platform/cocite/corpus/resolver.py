"""Turns a staging area into a store: hashes become rows, texts are sorted, links become compressed sparse rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cocite.corpus.links import BLOCK, PAIR, WEIGHTED, write_csr
from cocite.corpus.records import CONTEXTS, SENTENCES, SPLITS
from cocite.corpus.resolution import Resolution, keep_late, keep_unknown
from cocite.corpus.spill import BatchWriter, PairFile, read_batches
from cocite.corpus.staging import StagingArea
from cocite.corpus.streams import SourcePosition
from cocite.corpus.text_order import read_sort_order, write_ordered


class Resolver:
    """Writes all files of a store but ``papers.arrow``, from what a staging area has spilled.

    Beside the staging area's memory, the resolver takes at most 28 bytes a paper at a time, for degrees and offsets.

    Args:
        staging: the records, after :meth:`~cocite.corpus.staging.StagingArea.close`.
        links_from_contexts: make a citation of each (citing, cited) of a context; None: where the source names no
            citations itself.
        on_step: called with the name of each step.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> from cocite.corpus.records import ContextRecord, PaperRecord
        >>> from cocite.corpus.resolver import Resolver
        >>> from cocite.corpus.staging import StagingArea
        >>> from cocite.corpus.streams import SourcePosition
        >>> records = [ContextRecord("b/0", "b", ("a",), "as TARGETCIT says")]
        >>> records += [PaperRecord("a", "A"), PaperRecord("b", "B")]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     staging = StagingArea(Path(folder, "store"))
        ...     for line, record in enumerate(records, 1):
        ...         staging.add(record, SourcePosition("lines", line))
        ...     staging.close()
        ...     counts = Resolver(staging).run()
        >>> counts["papers"], counts["citations"], counts["contexts"]
        (2, 1, 1)
    """

    def __init__(
        self,
        staging: StagingArea,
        *,
        links_from_contexts: bool | None = None,
        on_step: Callable[[str], None] | None = None,
    ) -> None:
        self.staging = staging
        self.table = staging.table
        self.log = staging.log
        self.folder = staging.folder
        self.scratch = staging.scratch
        self.files = staging.files
        self.resolution = Resolution(
            staging.table, np.array(staging.years, np.int16), staging.limits.later_years, staging.old_papers
        )
        self.on_step: Callable[[str], None] = on_step or (lambda _: None)
        self.pairs = PairFile(self.scratch / "resolved.pairs", PAIR)
        self.together = PairFile(self.scratch / "together.pairs", WEIGHTED)
        self.links_from_contexts = (
            staging.links.count == 0 if links_from_contexts is None else links_from_contexts
        )

    def run(self) -> dict[str, Any]:
        """Resolve and write everything.

        Returns:
            The numbers of ``papers``, ``citations``, ``contexts``, ``sentences`` and ``cocited_pairs``, and those of
            papers by split under ``splits``.
        """
        self._copy_base_links()
        self.on_step("resolving citations")
        self._resolve_links()
        linked = self.pairs.count
        self.on_step("ordering contexts")
        contexts = self._contexts()
        self.on_step("ordering sentences")
        sentences = self._sentences()
        self.on_step("writing citations")
        count = len(self.table)
        distinct = write_csr(self.pairs, count, self.folder, "cites", scratch=self.scratch)
        write_csr(self.pairs, count, self.folder, "cited_by", scratch=self.scratch, flip=True)
        # Contexts repeat links by nature, so repeats are counted only where links come from elsewhere.
        if self.pairs.count == linked:
            self.log.add("duplicate_citation", linked - distinct)
        together = write_csr(self.together, count, self.folder, "cocitations", scratch=self.scratch)
        np.save(self.folder / "ids.npy", self.table.entries())
        splits = np.zeros(len(SPLITS), np.int64)
        for batch in read_batches(self.folder / "papers.arrow", ["split"]):
            splits += np.bincount(batch.column(0).to_numpy(), minlength=len(SPLITS))
        return {
            "papers": count,
            "citations": distinct,
            "contexts": contexts,
            "sentences": sentences,
            # Each pair is there in both orders.
            "cocited_pairs": together // 2,
            "splits": {name or "none": int(n) for name, n in zip(SPLITS, splits, strict=True)},
        }

    def _copy_base_links(self) -> None:
        base = self.staging.base
        if base is None:
            return
        for start in range(0, len(base), BLOCK):
            rows = np.arange(start, min(start + BLOCK, len(base)), dtype=np.int32)
            owner, entries = base.cites.gather(rows)
            self.pairs.write(rows[owner], entries)
            pairs, times = base.cocitations
            owner, entries = pairs.gather(rows)
            self.together.write(
                rows[owner], entries, times[pairs.indptr[start] : pairs.indptr[start + len(rows)]]
            )

    # -- citations ------------------------------------------------------------------------------------------

    def _resolve_links(self) -> None:
        for block in self.staging.links.blocks(BLOCK):
            links = self.resolution.links(block["citing"], block["cited"])
            for rule, count in links.counts.items():
                self.log.add(rule, count)
            keep_unknown(self.log, self.staging.sample, links.unknown.tolist())
            keep_late(self.log, links.late)
            self.pairs.write(*links.pairs)
        self.staging.links.drop()

    # -- texts ----------------------------------------------------------------------------------------------

    def _contexts(self) -> int:
        staging = self.staging
        writer = BatchWriter(self.folder / "contexts.arrow", CONTEXTS)
        if staging.base is not None:
            for batch in read_batches(staging.base.path / "contexts.arrow"):
                writer.write(batch)
        order = read_sort_order(staging.contexts.path, "citing", self.table)
        write_ordered(staging.contexts.path, order, writer, self._resolve_contexts, scratch=self.scratch)
        writer.close()
        return writer.rows

    def _resolve_contexts(self, batch: pa.RecordBatch) -> tuple[NDArray[np.int32], pa.RecordBatch]:
        texts = self.resolution.contexts(batch)
        self.log.add("context_unknown_cited", texts.unknown_cited)
        self._reject(batch, texts.faults, batch.column("id"))
        if self.links_from_contexts:
            self.pairs.write(*texts.links)
        self.together.write(*texts.together, np.ones(len(texts.together[0]), np.int32))
        return texts.rows, texts.batch

    def _sentences(self) -> int:
        staging = self.staging
        if not staging.bodies:
            return 0
        degrees = np.zeros(len(self.table), np.int64)
        if staging.base is not None:
            degrees[: staging.old_papers] = np.diff(staging.base.sentence_indptr)
        writer = BatchWriter(self.folder / "sentences.arrow", SENTENCES)
        if staging.base is not None:
            for batch in read_batches(staging.base.path / "sentences.arrow"):
                writer.write(batch)
        order = read_sort_order(staging.sentences.path, "paper", self.table)
        # Texts of old papers are rejected when they are written, and must not be counted.
        order.degrees[: staging.old_papers] = 0
        degrees += order.degrees
        write_ordered(
            staging.sentences.path,
            order,
            writer,
            self._resolve_sentences,
            scratch=self.scratch,
            ties="position",
        )
        writer.close()
        indptr = np.zeros(len(degrees) + 1, np.int64)
        np.cumsum(degrees, out=indptr[1:])
        np.save(self.folder / "sentences.indptr.npy", indptr)
        return writer.rows

    def _resolve_sentences(self, batch: pa.RecordBatch) -> tuple[NDArray[np.int32], pa.RecordBatch]:
        texts = self.resolution.sentences(batch)
        self._reject(batch, texts.faults)
        return texts.rows, texts.batch

    def _reject(
        self, batch: pa.RecordBatch, faults: dict[int, tuple[str, str]], ids: pa.Array | None = None
    ) -> None:
        """Report the rows that are left out, in their order, so that it is the same for batches of any size."""
        for i, (rule, reason) in sorted(faults.items()):
            file = self.files[batch.column("file")[i].as_py()]
            position = SourcePosition(file, batch.column("line")[i].as_py())
            self.log.report(rule, reason, position, id=ids[i].as_py() if ids is not None else "")
