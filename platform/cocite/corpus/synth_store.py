"""Writes the store of a synthetic corpus from columns, without a Python object for each record.

It holds what :func:`cocite.corpus.builder.build` makes of the same records: no record breaks a rule, blocks name rows
where records name ids, and contexts come in order, so nothing is left to clean, to look up or to sort but links. Only
the padding between Arrow's buffers may differ.

What grows in memory is a table of ids (16 bytes a paper, three times that while runs are merged) and, later, degrees
and offsets of links (at most 28 bytes a paper); links themselves are sorted on disk.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from cocite.artifacts import publish
from cocite.corpus.builder import locked_destination
from cocite.corpus.cocitation import ordered_pairs
from cocite.corpus.idtable import IdTable
from cocite.corpus.links import PAIR, WEIGHTED, write_csr
from cocite.corpus.records import CONTEXTS, PAPERS, SENTENCES, SPLITS
from cocite.corpus.rule_log import RuleLog
from cocite.corpus.spill import BatchWriter, NpyWriter, PairFile
from cocite.corpus.store import KIND, Corpus
from cocite.corpus.synth import Synthetic
from cocite.corpus.synth_block import SyntheticBlock
from cocite.destinations import check_artifact_destination


def build_synthetic(
    source: Synthetic,
    destination: str | Path,
    *,
    replace: bool = False,
    on_papers: Callable[[int], None] | None = None,
    on_step: Callable[[str], None] | None = None,
) -> Corpus:
    """Build and publish the store of a synthetic corpus: it appears whole, or not at all.

    Args:
        source: the corpus.
        destination: the folder to make.
        replace: put the new store in the place of an existing one.
        on_papers: called with the number of papers of each block that is written.
        on_step: called with the name of each step after the last paper.

    Raises:
        InputError: an existing destination, or two ids with the same hash.

    Example:
        >>> import tempfile
        >>> from cocite.corpus.synth import Synthetic
        >>> from cocite.corpus.synth_store import build_synthetic
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     corpus = build_synthetic(Synthetic(200, seed=5), f"{folder}/store")
        ...     len(corpus), len(corpus.cites.indices), len(corpus.contexts)
        (200, 1133, 723)
    """
    destination = Path(destination)
    check_artifact_destination(destination, replace=replace)
    meta: dict[str, Any] = {"format": source.format, "synth": source.settings()}
    with (
        locked_destination(destination),
        publish(destination, kind=KIND, meta=meta, replace=replace) as folder,
    ):
        writer = _Writer(folder, source.papers)
        for block in source.blocks():
            writer.write(block)
            if on_papers is not None:
                on_papers(len(block.rows))
        counts = writer.close(on_step or (lambda _: None))
        meta |= {"counts": counts, "samples": {}, "unknown_fields": []}
    return Corpus.open(destination, verified=True)


class _Writer:
    """Writes a store's files from blocks.

    Args:
        folder: an empty folder, which the files are written to.
        papers: of all blocks.
    """

    def __init__(self, folder: Path, papers: int) -> None:
        self.folder, self.count = folder, papers
        self.scratch = folder / ".scratch"
        self.scratch.mkdir()
        self.table = IdTable()
        self.papers = BatchWriter(folder / "papers.arrow", PAPERS)
        self.contexts = BatchWriter(folder / "contexts.arrow", CONTEXTS)
        self.sentences = BatchWriter(folder / "sentences.arrow", SENTENCES)
        self.body_ends = NpyWriter(folder / "sentences.indptr.npy", np.int64)
        self.body_ends.write(np.zeros(1))
        self.links = PairFile(self.scratch / "links.pairs", PAIR)
        self.together = PairFile(self.scratch / "together.pairs", WEIGHTED)
        self.splits = np.zeros(len(SPLITS), np.int64)

    def write(self, block: SyntheticBlock) -> None:
        """Append a block."""
        self.table.add(block.papers["id"].to_pylist())
        self.papers.write(block.papers)
        self.contexts.write(block.contexts)
        self.body_ends.write(self.sentences.rows + np.cumsum(block.body_lengths))
        self.sentences.write(block.sentences)
        self.links.write(*block.links)
        left, right = ordered_pairs(block.groups)
        self.together.write(left, right, np.ones(len(left), np.int32))
        self.splits += np.bincount(block.papers["split"].to_numpy(), minlength=len(SPLITS))

    def close(self, on_step: Callable[[str], None]) -> dict[str, Any]:
        """Write the arrays of links and ids; returns the counts for the manifest."""
        for writer in (self.papers, self.contexts, self.sentences, self.body_ends):
            writer.close()
        np.save(self.folder / "ids.npy", self.table.entries())
        self.table = IdTable()  # its memory is wanted for what follows
        on_step("writing citations")
        citations = write_csr(self.links, self.count, self.folder, "cites", scratch=self.scratch)
        write_csr(self.links, self.count, self.folder, "cited_by", scratch=self.scratch, flip=True)
        self.links.drop()
        on_step("writing co-citations")
        together = write_csr(self.together, self.count, self.folder, "cocitations", scratch=self.scratch)
        shutil.rmtree(self.scratch)
        return {
            "papers": self.papers.rows,
            "citations": citations,
            "contexts": self.contexts.rows,
            "sentences": self.sentences.rows,
            # Each pair is there in both orders.
            "cocited_pairs": together // 2,
            "splits": {name or "none": int(n) for name, n in zip(SPLITS, self.splits, strict=True)},
            "rules": RuleLog().summary(),
        }
