"""All shards of an index, asked together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cocite.retrieval.engines.inverted_lists import Best
from cocite.retrieval.shards.messages import (
    NearestReply,
    NearestRequest,
    ScoreReply,
    ScoreRequest,
    SearchRequest,
)
from cocite.retrieval.shards.shard import IndexShard


class ShardGroup(Protocol):
    """The shards of an index, wherever they are.

    A reply is None where a shard did not answer and the group's policy lets a search go on without it.

    Example:
        >>> group: ShardGroup = LocalShards([])
        >>> len(group)
        0
    """

    def __len__(self) -> int:
        """How many shards there are."""

    def nearest(self, request: NearestRequest) -> Sequence[NearestReply | None]:
        """The first round, of every shard in order of its rows."""

    def score(self, request: ScoreRequest) -> Sequence[ScoreReply | None]:
        """The second round."""

    def search(self, request: SearchRequest) -> Sequence[Sequence[Best] | None]:
        """The best papers by one field or encoder, of every shard; for each query, best first."""

    def paper_vectors(self, name: str, rows: NDArray[Any]) -> NDArray[np.float32]:
        """(k, d) an encoder's vectors of papers of any shard."""


@dataclass(frozen=True)
class LocalShards:
    """The shards in this process, which are asked one after the other.

    Attributes:
        shards: in order of their rows.

    Example:
        >>> from cocite.corpus.history import History
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.retrieval.index.index import Index
        >>> index = Index.build(starter_corpus(), History.all(starter_corpus()))
        >>> len(index.shards)
        1
    """

    shards: Sequence[IndexShard]

    def __len__(self) -> int:
        return len(self.shards)

    def nearest(self, request: NearestRequest) -> list[NearestReply | None]:
        """The first round."""
        return [shard.nearest(request) for shard in self.shards]

    def score(self, request: ScoreRequest) -> list[ScoreReply | None]:
        """The second round."""
        return [shard.score(request) for shard in self.shards]

    def search(self, request: SearchRequest) -> list[Sequence[Best] | None]:
        """The best papers by one field or encoder."""
        return [shard.search(request) for shard in self.shards]

    def paper_vectors(self, name: str, rows: NDArray[Any]) -> NDArray[np.float32]:
        """(k, d) an encoder's vectors of papers of any shard."""
        rows = np.asarray(rows, np.int64)
        owner = np.searchsorted([shard.first for shard in self.shards], rows, "right") - 1
        dimension = self.shards[0].vectors[name].dimension
        result = np.empty((*rows.shape, dimension), np.float32)
        for number in np.unique(owner).tolist():
            of_shard = owner == number
            result[of_shard] = self.shards[number].paper_vectors(name, rows[of_shard])
        return result
