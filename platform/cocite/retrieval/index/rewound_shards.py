"""Shards under a shorter history, for evaluation: with exact statistics of the contexts that are known then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cocite.array_files import scratch_array
from cocite.corpus.csr import CSR
from cocite.retrieval.engines.anchor_texts import AnchorTexts
from cocite.retrieval.engines.bm25 import Bm25Index
from cocite.retrieval.engines.matrices import read_only
from cocite.retrieval.engines.packed_counts import FieldCounts, PackedCounts
from cocite.retrieval.engines.word_statistics import WordStatistics
from cocite.retrieval.index.shard_counts import SharedVocabulary, anchor_counts
from cocite.retrieval.shards.group import LocalShards
from cocite.retrieval.shards.shard import IndexShard


class RewoundShards:
    """The shards of an index with fewer contexts, whose statistics are those of the remaining ones alone.

    The counts of one shard are in memory at a time, and those of all in files without names.

    Args:
        shards: of the index, in this process.
        words: the vocabulary of the contexts, as an index.
        cited: the papers that each remaining context cites.
        kept: (C,) the contexts that remain.

    Example:
        >>> words = Bm25Index.build(["chart parsing"])
        >>> nothing = CSR(np.zeros(1, np.int64), np.zeros(0, np.int32))
        >>> len(RewoundShards([], words, nothing, np.zeros(0, bool)).group())
        0
    """

    def __init__(
        self, shards: Sequence[IndexShard], words: Bm25Index, cited: CSR, kept: NDArray[np.bool_]
    ) -> None:
        self.shards = shards
        self.vocabulary = SharedVocabulary(words.tokenizer, words.vocabulary)
        self.documents: dict[str, list[FieldCounts]] = {"contexts": [], "windows": []}
        self.cited, self.first = cited, [0]
        for shard in shards:
            part = np.flatnonzero(kept[shard.first_context : shard.first_context + len(shard.contexts)])
            for name, documents in (("contexts", shard.contexts), ("windows", shard.anchors.windows)):
                self.documents[name].append(_in_scratch(documents.counts.take(part)))
                self.vocabulary.add({name: WordStatistics.of_packed(self.documents[name][-1])})
            self.first.append(self.first[-1] + len(part))

    def group(self) -> LocalShards:
        """The shards."""
        columns = len(self.vocabulary.words)
        anchors: dict[str, list[FieldCounts]] = {}
        for source, name in (("contexts", "whole"), ("windows", "near")):
            anchors[name] = [
                self._anchors(self.documents[source], shard.first, shard.first + len(shard), columns)
                for shard in self.shards
            ]
            for counts in anchors[name]:
                self.vocabulary.add({name: WordStatistics.of_packed(counts)})
        return LocalShards(
            [
                replace(
                    shard,
                    first_context=self.first[number],
                    contexts=self.vocabulary.index("contexts", self.documents["contexts"][number]),
                    anchors=AnchorTexts(
                        self.vocabulary.index("windows", self.documents["windows"][number]),
                        self.vocabulary.index("whole", anchors["whole"][number]),
                        self.vocabulary.index("near", anchors["near"][number]),
                    ),
                )
                for number, shard in enumerate(self.shards)
            ]
        )

    def _anchors(self, documents: Sequence[FieldCounts], first: int, last: int, columns: int) -> FieldCounts:
        cited = (self.cited.part(*ends) for ends in pairwise(self.first))
        blocks = anchor_counts(documents, cited, first, last, columns)
        return _in_scratch(PackedCounts.of(((block, None) for block in blocks), columns).outer)


def _in_scratch(counts: FieldCounts) -> FieldCounts:
    """The same counts in files, which the system may leave out of memory."""
    packed = counts.packed
    documents, entries, rare = map(_copied, (packed.documents, packed.entries, packed.rare))
    return replace(counts, packed=replace(packed, documents=documents, entries=entries, rare=rare))


def _copied(array: NDArray[Any]) -> NDArray[Any]:
    if not len(array):
        return array
    copy = scratch_array(len(array), array.dtype)
    copy[:] = array
    return read_only(copy)
