"""One shard of an index version, opened without the others: what a process of its own holds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cocite.errors import InputError, IntegrityError
from cocite.manifests import read_manifest
from cocite.mapped_memory import read_at_random
from cocite.retrieval.engines.inverted_lists import Best
from cocite.retrieval.engines.query_words import QueryWords
from cocite.retrieval.index.shard_files import check_shard, open_shard
from cocite.retrieval.index.shard_layout import SHARD_KIND
from cocite.retrieval.index.version_writer import KIND
from cocite.retrieval.index.versions import VersionedFolder
from cocite.retrieval.shards.messages import (
    NearestReply,
    NearestRequest,
    ScoreReply,
    ScoreRequest,
    SearchRequest,
)
from cocite.retrieval.shards.paper_filter import EVERYTHING
from cocite.retrieval.shards.shard import IndexShard
from cocite.verification import open_verified_once

PROBED = 10
"""Papers that a probe asks for."""


def describe_shards(root: Path, version: str) -> list[dict[str, Any]]:
    """What the manifest of a version says of each of its shards.

    Raises:
        InputError: the version is not divided into shards.
    """
    described: list[dict[str, Any]] | None = read_manifest(
        VersionedFolder(root).folder(version), kind=KIND
    ).meta.get("shards")
    if described is None:
        raise InputError(
            "this index is not divided into shards",
            where=str(root),
            hint="build it with --shards, or leave out what needs them",
        )
    return described


def first_rows(described: Sequence[dict[str, Any]]) -> list[int]:
    """The row of the first paper of each shard.

    Example:
        >>> first_rows([{"papers": 141}, {"papers": 140}, {"papers": 142}])
        [0, 141, 281]
    """
    return [sum(shard["papers"] for shard in described[:number]) for number in range(len(described))]


class SingleShard:
    """One shard, whose version is not deleted while this object lives.

    Args:
        root: the index folder, of which this process reads the version's manifest and the folder of the shard.
        version: its name.
        number: of the shard, from 0.

    Raises:
        NotFoundError: there is no such version.
        IntegrityError: the shard is missing, damaged, or of another version.
        InputError: the version is not divided into shards.

    Example:
        >>> import tempfile
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.retrieval.index.sharded_index import ShardedIndex
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = ShardedIndex.create(starter_corpus(), folder, shards=3)
        ...     shard = SingleShard(Path(folder), "000001", 2)
        ...     len(shard.shard), shard.shard.first
        (141, 282)
    """

    def __init__(self, root: Path, version: str, number: int) -> None:
        self.version, self._lock = VersionedFolder(root).lock(version)
        described = describe_shards(root, self.version)
        path = VersionedFolder(root).folder(self.version)
        folder = check_shard(path, described, number)
        self._path = str(folder)
        open_verified_once(folder, kind=SHARD_KIND)
        self.shard: IndexShard = open_shard(path, described, number, threads=1)
        read_at_random(folder)
        self.shard.warm_up()

    def ping(self) -> None:
        """Do nothing; the reply says that the shard answers."""

    def probe(self) -> None:
        """Search by a word, and by the vector of the shard's first paper for each encoder.

        Raises:
            IntegrityError: the shard finds no paper, or one without a score.
        """
        word = QueryWords(np.zeros(1, np.int64), np.ones((1, 1), np.float32))
        requests = [SearchRequest("text", [word], None, [EVERYTHING], PROBED, postings=PROBED)]
        first = np.array([self.shard.first])
        for name in self.shard.vectors:
            vectors = self.shard.paper_vectors(name, first)
            requests.append(SearchRequest(name, None, vectors, [EVERYTHING], PROBED))
        for request in requests:
            [best] = self.shard.search(request)
            nothing = request.vectors is not None and not len(best.rows)
            if nothing or not np.isfinite(best.scores).all():
                raise IntegrityError(f"the shard finds no paper by {request.field}", where=self._path)

    def nearest(self, request: NearestRequest) -> NearestReply:
        """The first round."""
        return self.shard.nearest(request)

    def score(self, request: ScoreRequest) -> ScoreReply:
        """The second round."""
        return self.shard.score(request)

    def search(self, request: SearchRequest) -> list[Best]:
        """The best papers by one field or encoder."""
        return self.shard.search(request)

    def paper_vectors(self, name: str, rows: NDArray[Any]) -> NDArray[np.float32]:
        """(k, d) an encoder's vectors of some of the shard's papers, given by their rows in the whole index."""
        return self.shard.paper_vectors(name, rows)
