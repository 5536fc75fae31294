"""Anchor texts of an index in shards: what the contexts of each shard say of the papers of each other one.

A context's words belong to the anchor texts of the papers that it cites, which lie in other shards. So each shard
writes a folder for each shard whose papers it cites, and that one adds up what all say of its papers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from cocite.artifacts import load_array
from cocite.corpus.csr import CSR, distinct
from cocite.retrieval.engines.packed_counts import CountsWriter, PackedCounts
from cocite.retrieval.index.shard_counts import BLOCK, anchor_counts
from cocite.retrieval.index.shard_inputs import ANCHORS, ShardInputs
from cocite.retrieval.index.shard_layout import CONTEXTS
from cocite.retrieval.index.shard_words import load_fields, save_fields, words_of_all

SAID = "said"
"""Beginning of the names of what contexts of one shard say of the papers of another."""


def said_name(source: int, destination: int) -> str:
    """The name of what one shard's contexts say of another's papers.

    Example:
        >>> said_name(2, 0)
        'said/0002/0000'
    """
    return f"{SAID}/{source:04d}/{destination:04d}"


def cite_words(inputs: ShardInputs, number: int) -> None:
    """Add up the words of one shard's contexts by the papers that they cite, for every shard."""
    words = words_of_all(inputs, CONTEXTS, number)
    packed, cited = load_fields(inputs, CONTEXTS, number, words), inputs.cited(number)
    for other, part in enumerate(inputs.ranges):
        context, paper = cited.keep((cited.indices >= part.first) & (cited.indices < part.last)).pairs()
        papers = distinct(paper.astype(np.int64))
        cells = (np.searchsorted(papers, paper), context)
        members = sp.csr_matrix((np.ones(len(paper), np.int32), cells), (len(papers), len(cited)))
        with inputs.files.write(said_name(number, other)) as folder:
            np.save(folder / "papers.npy", papers)
            with CountsWriter(folder, words) as writer:
                for start in range(0, len(papers), BLOCK):
                    of_papers = members[start : start + BLOCK]
                    writer.add(packed.outer.sums(of_papers), packed.inner.sums(of_papers))


def add_anchors(inputs: ShardInputs, number: int) -> None:
    """Add up what the contexts of all shards say of one shard's papers."""
    folders = [inputs.files.read(said_name(source, number)) for source in range(len(inputs.ranges))]
    words = words_of_all(inputs, CONTEXTS, number)
    save_fields(inputs, ANCHORS, number, words, _added(inputs, number, folders, words))


def _added(
    inputs: ShardInputs, number: int, folders: Sequence[Path], words: int
) -> Iterator[tuple[sp.csr_matrix, sp.csr_matrix]]:
    """The words that whole contexts and windows say of papers, a block of papers at a time."""
    papers = [load_array(folder / "papers.npy", mapped=False) for folder in folders]
    of_row = [CSR(np.arange(len(rows) + 1), rows.astype(np.int32)) for rows in papers]
    said = [
        PackedCounts.load(folder, (len(rows), words)) for folder, rows in zip(folders, papers, strict=True)
    ]
    ends = (inputs.ranges[number].first, inputs.ranges[number].last, words)
    whole, near = (
        anchor_counts(documents, of_row, *ends)
        for documents in ([of.outer for of in said], [of.inner for of in said])
    )
    return zip(whole, near, strict=True)
