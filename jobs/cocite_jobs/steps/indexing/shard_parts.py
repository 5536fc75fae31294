"""Making the parts of an index in shards; runs in a worker."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial

from cocite.pipeline.components import load_encoder
from cocite.protocols import Encoder
from cocite.retrieval.engines.bm25_fields import Bm25Fields
from cocite.retrieval.index.shard_build import build_stages
from cocite.retrieval.index.sharded_plan import ShardedPlan
from cocite.retrieval.stored_vectors import open_stored_vectors
from cocite_jobs.steps.files import fetch_seen, open_seen, require_seen
from cocite_jobs.steps.indexing.remote_files import shard_files
from cocite_jobs.steps.parts import Part, Result
from cocite_jobs.storage.location import Location

FORMAT = 1
"""Of what the parts write: parts of another format are not taken up."""


@dataclass(frozen=True)
class ShardParts:
    """The parts of an index in shards; a :class:`~cocite_jobs.steps.parts.Work`.

    Attributes:
        corpus: a store, by its path or URI, which every worker sees.
        corpus_version: of the store.
        shards: how many.
        files: the folder of what the parts write.
        version: that of the version in the making, where it is not on this machine.
        bodies: whether an encoder reads body sentences.
        known_until, before_split: what is known.
        model: a model folder with the encoders, by its path or URI; None: there are none.
        vectors_from: vectors of `cocite embed`, likewise.
        encoder_ids: name and id of each encoder.
        bm25: k1 and b of the papers' fields, where they are not the usual ones.
        vector_kind: how the vectors of a shard are searched.
        threads: of each part.

    Example:
        >>> ShardParts("corpus", "12ab", 4, Location.of("memory://parts"), Location.of("memory://index/1")).shards
        4
    """

    corpus: str
    corpus_version: str
    shards: int
    files: Location
    version: Location
    bodies: bool = False
    known_until: int | None = None
    before_split: str | None = None
    model: str | None = None
    vectors_from: str | None = None
    encoder_ids: tuple[tuple[str, str], ...] = ()
    bm25: tuple[tuple[str, float], ...] = ()
    vector_kind: str = "auto"
    threads: int = 1

    @property
    def key(self) -> str:
        """What determines the content of the parts."""
        facts = [FORMAT, self.corpus_version, self.shards, self.known_until, self.before_split]
        return json.dumps([*facts, self.encoder_ids, self.bm25, self.vector_kind, self.version.uri])

    def open(self) -> Callable[[Part], Result]:
        """Open the corpus; an encoder is loaded by the first part that needs it.

        Raises:
            CociteError: this machine does not see it, or it is another than the driver's.
        """
        corpus = open_seen(self.corpus, self.corpus_version, bodies=self.bodies)
        plan = ShardedPlan.of(
            corpus,
            shards=self.shards,
            known_until=self.known_until,
            before_split=self.before_split,
            bm25=Bm25Fields.parse({}, overrides=[f"{name}={value}" for name, value in self.bm25]),
            vector_kind=self.vector_kind,
        )
        return partial(self._make, plan, cache(self._load))

    def _make(self, plan: ShardedPlan, load: Callable[[str], Encoder], part: Part) -> Result:
        wall, cpu = time.perf_counter(), time.process_time()
        with shard_files(self.files, self.version) as files:
            # One thread numbers the words that others split.
            inputs = plan.inputs(files, splitters=self.threads - 1, threads=self.threads)
            inputs = replace(inputs, encoder_ids=dict(self.encoder_ids), load_encoder=load)
            [chosen] = [one for stage in build_stages(inputs) for one in stage.parts if one.name == part.name]
            made = chosen.make() or {}
        return {**made, "seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}

    def _load(self, name: str) -> Encoder:
        """The encoder of a name, or its stored vectors in its place."""
        found: Encoder | None = None
        if self.vectors_from is not None:
            stored = open_stored_vectors(fetch_seen(self.vectors_from))
            found = next((vectors for vectors in stored if vectors.name == name), None)
        if found is None and self.model is not None:
            found = load_encoder(fetch_seen(self.model), name)
        same = found is not None and found.id == dict(self.encoder_ids)[name]
        require_seen(same, name, f"{self.vectors_from or self.model}")
        assert found is not None
        return found
