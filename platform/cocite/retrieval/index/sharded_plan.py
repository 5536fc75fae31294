"""The plan of an index in shards: what is indexed and how, checked before anything is written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cocite.corpus.history import known_history
from cocite.corpus.store import Corpus
from cocite.part_files import PartFiles
from cocite.protocols import Encoder
from cocite.retrieval.engines.bm25_fields import Bm25Fields
from cocite.retrieval.engines.vectors import check_kind
from cocite.retrieval.index.collection import Collection
from cocite.retrieval.index.documents import Advance, ignore_progress
from cocite.retrieval.index.shard_inputs import ShardInputs
from cocite.retrieval.index.shard_ranges import ShardRange, divide
from cocite.retrieval.index.stored_corpus import link_corpus, read_bodies
from cocite.retrieval.index.version_writer import describe


@dataclass(frozen=True)
class ShardedPlan:
    """What an index in shards is made of.

    Attributes:
        collection: the papers, and what is known of them.
        ranges: the shards.
        encoders: each makes its vectors.
        bm25: k1 and b of the papers' fields.
        vector_kind: how the vectors of a shard are searched.
        meta: what a version's manifest says of the plan.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> plan = ShardedPlan.of(starter_corpus(), shards=2, known_until=2010)
        >>> [part.papers for part in plan.ranges], plan.meta["known_until"]
        ([211, 212], 2010)
    """

    collection: Collection
    ranges: Sequence[ShardRange]
    encoders: Sequence[Encoder]
    bm25: Bm25Fields
    vector_kind: str
    meta: dict[str, Any]

    @classmethod
    def of(
        cls,
        corpus: Corpus,
        *,
        shards: int,
        known_until: int | None = None,
        before_split: str | None = None,
        encoders: Sequence[Encoder] = (),
        bm25: Bm25Fields | None = None,
        vector_kind: str = "auto",
    ) -> ShardedPlan:
        """Plan an index.

        Args:
            corpus: the store.
            shards: how many.
            known_until, before_split, encoders, bm25, vector_kind: as in
                :meth:`~cocite.retrieval.index.snapshot.IndexSnapshot.create`.

        Raises:
            InputError: an argument does not fit the corpus.
        """
        check_kind(vector_kind)
        if read_bodies(encoders):
            corpus.require_bodies()
        limits: dict[str, Any] = {"known_until": known_until, "before_split": before_split}
        history = known_history(corpus, **limits)
        bm25 = bm25 or Bm25Fields()
        ids = {encoder.name: encoder.id for encoder in encoders}
        collection = Collection(corpus, history, np.ones(len(corpus), bool))
        meta = {**limits, "encoder_ids": ids, "bm25": bm25.changed()}
        return cls(collection, divide(collection, shards), encoders, bm25, vector_kind, meta)

    def inputs(self, files: PartFiles, advance: Advance = ignore_progress, **more: Any) -> ShardInputs:
        """What the parts of the build work on.

        Args:
            files: where the parts lie.
            advance: receives the number of texts and vectors made since its last call.
            more: threads.
        """
        return ShardInputs(
            collection=self.collection,
            ranges=self.ranges,
            files=files,
            encoder_ids=self.meta["encoder_ids"],
            load_encoder={encoder.name: encoder for encoder in self.encoders}.__getitem__,
            bm25=self.bm25,
            vector_kind=self.vector_kind,
            advance=advance,
            **more,
        )

    def fill(self, version: Path, write: Callable[[Path], dict[str, Any]]) -> dict[str, Any]:
        """Fill the folder of a version; returns what its manifest is to say.

        Args:
            version: the folder.
            write: writes the shards, the words, the tables of names and the known contexts into it, and returns what
                the manifest says of the shards.
        """
        link_corpus(self.collection.corpus, version / "corpus", bodies=read_bodies(self.encoders))
        described = write(version)
        contexts = sum(part.contexts for part in self.ranges)
        return {**self.meta, **described, **describe(self.collection, version, contexts)}
