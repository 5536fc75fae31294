"""What the reranker computes: the order of one request's candidates, and the pairs of several requests together."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cocite.pipeline.options import QUERY_KINDS, Candidates, Options, Recommendation
from cocite.protocols import Query
from cocite_serve.http.text_work import CrossEncoderFacts
from cocite_serve.replicas.pace import Pace, measured_pace
from cocite_serve.replicas.text_pairs import facts_of

if TYPE_CHECKING:
    from cocite.pipeline.second_stage import SecondStage
    from cocite.pipeline.stepwise_ranking import PairReading, StepwiseRanking


@dataclass(eq=False)
class Order:
    """A query whose candidates wait to be ordered.

    Example:
        >>> Order(Query("q", title="Parsing"), candidates=None, options=Options()).ranking is None
        True
    """

    query: Query
    candidates: Candidates
    options: Options
    ranking: StepwiseRanking | None = None
    """Once it is open."""

    @property
    def reading(self) -> StepwiseRanking | None:
        """What is read of it, once it is open."""
        return self.ranking

    def open(self, stage: SecondStage) -> StepwiseRanking:
        """Order the candidates without the cross-encoder."""
        from cocite.pipeline.stepwise_ranking import StepwiseRanking

        self.ranking = StepwiseRanking(stage, self.query, self.candidates, self.options)
        return self.ranking

    def result(self) -> Reranked:
        """The papers of the query, by what was read."""
        ranking = self.ranking
        assert ranking is not None, "a request is opened before it is read"
        of = 0 if ranking.pairs is None else len(ranking.pairs.lengths)
        return Reranked(ranking.recommendations(), ranking.read, of)


class PairJob(Protocol):
    """What waits in the reranker's queue: candidates to order, or texts to score.

    Example:
        >>> job: PairJob = Order(Query("q", title="Parsing"), candidates=None, options=Options())
        >>> job.reading is None
        True
    """

    @property
    def reading(self) -> PairReading | None:
        """The pairs, once it is open."""

    def open(self, stage: SecondStage) -> PairReading:
        """Find the pairs."""

    def result(self) -> Any:
        """What the job was for, by what was read."""


@dataclass(frozen=True)
class Reranked:
    """Ordered papers, and how many the cross-encoder has read.

    Attributes:
        papers: best first.
        read: candidates that it has read.
        of: candidates that it was to read; 0: it reads no query of this kind, or none was asked for.

    Example:
        >>> reranked = Reranked([], read=40, of=200)
        >>> f"{reranked.read} of {reranked.of}"
        '40 of 200'
    """

    papers: list[Recommendation]
    read: int
    of: int


class PairChunks:
    """The second stage, as a :class:`~cocite_serve.replicas.worker.Worker` uses it.

    Args:
        stage: the second stage.
        observe_padding: takes, of each chunk that is padded, the tokens computed over those of its pairs.

    Example:
        >>> from cocite.corpus.history import History
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.pipeline.first_stage import FirstStage
        >>> from cocite.pipeline.second_stage import SecondStage
        >>> from cocite.retrieval.index.index import Index
        >>> index = Index.build(starter_corpus(), History.all(starter_corpus()))
        >>> query, options = Query("q", title="Machine translation"), Options(top_k=3, depth=20)
        >>> order = Order(query, FirstStage(index).retrieve([query], options), options)
        >>> chunks = PairChunks(SecondStage(index))
        >>> chunks.open(order)  # without a cross-encoder there are no pairs
        array([], dtype=int64)
        >>> len(chunks.close(order, 0).papers)
        3
    """

    def __init__(self, stage: SecondStage, observe_padding: Callable[[float], None] | None = None) -> None:
        from cocite.pipeline.stepwise_ranking import pair_reader

        self._stage, self._cross_encoder = stage, pair_reader(stage)
        self._observe_padding = observe_padding

    @property
    def chunk_tokens(self) -> int:
        """Tokens of pairs that are worth reading together; 1 without a cross-encoder."""
        return 1 if self._cross_encoder is None else self._cross_encoder.scorer.chunk_tokens

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds of query whose candidates the cross-encoder reads."""
        return tuple(kind for kind in QUERY_KINDS if self._stage.uses_cross_encoder(kind))

    @property
    def facts(self) -> CrossEncoderFacts | None:
        """What is known of the cross-encoder; None where there is none."""
        return facts_of(self._stage)

    def open(self, job: PairJob) -> NDArray[np.int64]:
        """Find the pairs of a job; their tokens, in the order in which they are read."""
        pairs = job.open(self._stage).pairs
        return np.zeros(0, np.int64) if pairs is None else pairs.lengths

    def read(self, parts: Sequence[tuple[PairJob, int]]) -> None:
        """Let the cross-encoder read the next pairs of some jobs."""
        from cocite.pipeline.stepwise_ranking import read_together

        opened = [(_opened(job), count) for job, count in parts]
        padding = self._padding(opened)
        read_together(self._stage, opened)
        if padding is not None and self._observe_padding is not None:
            self._observe_padding(padding)

    def _padding(self, parts: Sequence[tuple[PairReading, int]]) -> float | None:
        """What the next pairs of some jobs are padded by, see :meth:`PairScorer.padding`; None: they are packed."""
        if self._cross_encoder is None or self._cross_encoder.scorer.packed:
            return None
        lengths = [part.pairs.lengths[part.read :][:count] for part, count in parts if part.pairs is not None]
        return self._cross_encoder.scorer.padding(np.concatenate(lengths))

    def close(self, job: PairJob, items: int) -> Any:  # noqa: ARG002
        """What a job was for, by what was read."""
        return job.result()

    def measure(self) -> tuple[Pace, float]:
        """The pace of a token, once all that is made at first use is there, and the mean tokens of a pair."""
        if self._cross_encoder is None:
            return Pace(1, 0.001), 1.0
        rows = np.arange(min(8, len(self._stage.index)), dtype=np.int32)
        [paper] = self._stage.index.corpus.papers_at(rows[:1])
        query = Query("warm-up", context="as in [CIT]", title=paper.title, abstract=paper.abstract)
        pairs = self._cross_encoder.pairs(query, rows)
        tokens = int(pairs.lengths.sum())
        read = partial(self._cross_encoder.read, [(pairs, slice(None))])
        return measured_pace(tokens, read), tokens / len(rows)


def pairs_asked(kinds: Collection[str], query: Query, options: Options) -> int:
    """How many pairs a query will have, at most.

    Args:
        kinds: of query that the cross-encoder reads.
        query: one query.
        options: with its depth, and how many of the best to read.

    Example:
        >>> pairs_asked(("global",), Query("q", title="Parsing"), Options(depth=20, rerank=30))
        20
        >>> pairs_asked(("global",), Query("q", context="as in [CIT]"), Options())
        0
    """
    return min(options.rerank, options.depth) if query.kind in kinds else 0


def _opened(job: PairJob) -> PairReading:
    assert job.reading is not None, "a request is opened before it is read"
    return job.reading
