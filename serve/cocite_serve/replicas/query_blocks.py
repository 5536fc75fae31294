"""What the retriever computes: the candidates of all queries that wait with the same options, and texts' vectors."""

from __future__ import annotations

import time
from collections.abc import Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cocite.phases import observed
from cocite.pipeline.options import Candidates, Options, Recommendation
from cocite.protocols import Query
from cocite.retrieval.remote_shards import ShardsUnavailableError
from cocite_serve.replicas.pace import Pace, measured_pace
from cocite_serve.tracing.spans import span

if TYPE_CHECKING:
    from cocite.pipeline.first_stage import FirstStage
    from cocite.pipeline.second_stage import SecondStage

QUERY_COST = 128
"""Cost of a query in the queue, where a text to embed costs its tokens: a query is that long, and is searched, too."""
GUESS_S = 0.05
"""Seconds of a query, until one was measured."""
FIRST_ATTEMPTS = 3
"""At a first measurement. Shards that have just started answer their first round slowly, on a busy machine later than a
round may take; the golden queries, which come next, need them in time."""


def query_costs() -> NDArray[np.int64]:
    """(1,) the cost of a query in the queue."""
    return np.full(1, QUERY_COST, np.int64)


@dataclass(eq=False)
class Search:
    """A query that waits for its candidates.

    Example:
        >>> search = Search(Query("q", title="Parsing"), Options())
        >>> search.group == Search(Query("q", title="Trees"), Options()).group
        True
        >>> search.group == Search(Query("q", context="as in [CIT]"), Options()).group
        False
    """

    query: Query
    options: Options
    candidates: list[Candidates] = field(default_factory=list)
    """Once they are found: those of this query alone."""

    @property
    def group(self) -> Hashable:
        """What queries of one block have in common: their options, and signals of the same names."""
        return self.options, self.query.is_local

    def costs(self, stage: FirstStage) -> NDArray[np.int64]:  # noqa: ARG002
        """(1,) the cost of the query."""
        return query_costs()

    @staticmethod
    def compute(stage: FirstStage, parts: Sequence[tuple[Search, int]]) -> None:
        """Find the candidates of some queries of one group."""
        searches = [search for search, _ in parts]
        found = stage.retrieve([search.query for search in searches], searches[0].options)
        for position, search in enumerate(searches):
            search.candidates.append(found.of([position]))

    def result(self) -> Candidates:
        """The candidates of the query."""
        return self.candidates[0]


@dataclass(frozen=True)
class Found:
    """The papers of one query, by a release whose cross-encoder does not read it.

    Attributes:
        papers: best first.
        missing_shards: numbers, from 0, of the shards that did not answer.
        order_s: seconds that their order and their evidence took.
        unlike_corpus: whether the query's text is unlike the papers of the index.

    Example:
        >>> Found([], (), order_s=0.004).missing_shards
        ()
    """

    papers: list[Recommendation]
    missing_shards: tuple[int, ...]
    order_s: float
    unlike_corpus: bool = False


@dataclass(eq=False)
class Recommend:
    """A query that waits for its papers, which no cross-encoder reads.

    Example:
        >>> job = Recommend(Query("q", title="Parsing"), Options(), second=None)
        >>> job.group == Search(job.query, job.options).group
        False
    """

    query: Query
    options: Options
    second: SecondStage
    """Without a cross-encoder."""
    found: list[Found] = field(default_factory=list)
    """Once they are there: those of this query alone."""

    @property
    def group(self) -> Hashable:
        """What queries of one block have in common."""
        return Recommend, self.options, self.query.is_local

    def costs(self, stage: FirstStage) -> NDArray[np.int64]:  # noqa: ARG002
        """(1,) the cost of the query."""
        return query_costs()

    @staticmethod
    def compute(stage: FirstStage, parts: Sequence[tuple[Recommend, int]]) -> None:
        """Find and order the papers of some queries of one group."""
        jobs = [job for job, _ in parts]
        queries, options = [job.query for job in jobs], jobs[0].options
        candidates = stage.retrieve(queries, options)
        begin = time.perf_counter()
        rankings = jobs[0].second.rerank(queries, candidates, options)
        order_s = (time.perf_counter() - begin) / len(jobs)
        unlikes = candidates.unlike or [False] * len(jobs)
        for job, papers, unlike in zip(jobs, rankings, unlikes, strict=True):
            job.found.append(Found(papers, candidates.missing_shards, order_s, unlike))

    def result(self) -> Found:
        """The papers of the query."""
        return self.found[0]


class BlockJob(Protocol):
    """What waits in the retriever's queue: a query, or texts to embed.

    Example:
        >>> job: BlockJob = Search(Query("q", title="Parsing"), Options())
        >>> job.group[1]
        False
    """

    @property
    def group(self) -> Hashable:
        """What is computed together."""

    def costs(self, stage: FirstStage) -> NDArray[np.int64]:
        """(n,) the costs of its items: of a query :data:`QUERY_COST`, of a text its tokens."""

    @staticmethod
    def compute(stage: FirstStage, parts: Sequence[tuple[Any, int]]) -> None:
        """Compute the next items of some jobs of one group: how many of each."""

    def result(self) -> Any:
        """What the job was for."""


class QueryBlocks:
    """The first stage, as a :class:`~cocite_serve.replicas.worker.Worker` uses it.

    Args:
        stage: the first stage.

    Example:
        >>> from cocite.corpus.history import History
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.pipeline.first_stage import FirstStage
        >>> from cocite.retrieval.index.index import Index
        >>> blocks = QueryBlocks(FirstStage(Index.build(starter_corpus(), History.all(starter_corpus()))))
        >>> searches = [Search(Query("q", title=title), Options(depth=5)) for title in ("Parsing", "Translation")]
        >>> blocks.read([(search, 1) for search in searches])
        >>> [blocks.close(search, 1).ranking.rows.shape for search in searches]
        [(1, 5), (1, 5)]
    """

    def __init__(self, stage: FirstStage) -> None:
        self._stage = stage

    def open(self, job: BlockJob) -> NDArray[np.int64]:
        """The costs of the items of a job; not called where they are known, as those of a query are."""
        return job.costs(self._stage)

    def read(self, parts: Sequence[tuple[BlockJob, int]]) -> None:
        """Compute the next items of some jobs of one group."""
        with observed(span):
            parts[0][0].compute(self._stage, parts)

    def close(self, job: BlockJob, items: int) -> Any:  # noqa: ARG002
        """What a job was for."""
        return job.result()

    def measure(self, attempts: int = 1) -> Pace:
        """The pace of one query, once all that is made at first use is there; a guess while a shard is away.

        Args:
            attempts: how often it is tried where a shard does not answer.
        """
        query = Query(
            "warm-up", context="as was shown by [CIT] before", title="a title", abstract="an abstract"
        )
        for _ in range(attempts):
            with suppress(ShardsUnavailableError):
                return measured_pace(QUERY_COST, lambda: self._stage.retrieve([query], Options()))
        return Pace(QUERY_COST, GUESS_S)
