"""Ranking all queries of a task, batch by batch, and keeping what the metrics need."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.csr import CSR
from cocite.evaluation.hits import Hits
from cocite.evaluation.slices import SelfCitation, SelfCitationCounter
from cocite.evaluation.tasks import EvalTask, paper_ids
from cocite.evaluation.trec import run_writer, write_qrels
from cocite.protocols import NO_ROW, Query, Ranking

Rank = Callable[[Sequence[Query], int], Ranking]
"""Returns the k best papers of each query: any retriever's ``search``, a recommender's ``rank``."""


@dataclass(frozen=True)
class EvalResult:
    """What a system retrieved for the queries of a task.

    Attributes:
        hits: the ranks of the relevant papers.
        self_citation: the ranks of same-author papers.
        seconds: time spent in ranking alone.
        empty: how many queries got no candidate at all.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.evaluation import tasks
        >>> from cocite.evaluation.baselines import Bm25Baseline, lexical_index
        >>> from cocite.evaluation.metrics import means
        >>> corpus = starter_corpus()
        >>> result = run(tasks.global_(corpus, "dev"), Bm25Baseline(lexical_index(corpus)).search, k=100)
        >>> {name: round(value, 3) for name, value in means(result.hits, ["MRR", "R@10"]).items()}
        {'MRR': 0.51, 'R@10': 0.218}
    """

    hits: Hits
    self_citation: SelfCitation
    seconds: float
    empty: int

    @classmethod
    def of(cls, parts: Iterable[RankedQueries]) -> EvalResult:
        """The result of all queries of a task, of which there are parts in order."""
        bias, hits, seconds, empty = SelfCitationCounter(lambda _: []), [], 0.0, 0
        for part in parts:
            hits.append(part.hits)
            seconds += part.seconds
            empty += part.empty
            for sums in part.self_citation:
                bias.add_sums(sums)
        return cls(Hits.concatenate(hits), bias.result(), seconds, empty)

    @property
    def milliseconds(self) -> float:
        """Mean time of a query, in milliseconds."""
        return 1000 * self.seconds / max(len(self.hits), 1)


@dataclass(frozen=True)
class RankedQueries:
    """What the metrics need of the rankings of some queries of a task, one behind the other.

    Attributes:
        hits: the ranks of their relevant papers.
        self_citation: (B, 3, n) of each batch, :meth:`~cocite.evaluation.slices.SelfCitationCounter.sums`.
        seconds: time spent in ranking alone.
        empty: how many of them got no candidate at all.

    Example:
        >>> nothing = Hits.concatenate([])
        >>> parts = [RankedQueries(nothing, np.zeros((1, 3, 100)), seconds=0.5, empty=2)] * 3
        >>> EvalResult.of(parts).seconds, EvalResult.of(parts).empty
        (1.5, 6)
    """

    hits: Hits
    self_citation: NDArray[np.float64]
    seconds: float
    empty: int


def rank_some(
    task: EvalTask,
    rank: Rank,
    first: int,
    last: int,
    *,
    k: int,
    batch: int,
    write: Callable[[list[str], Ranking], object] = lambda *_: None,
    advance: Callable[[int], object] = lambda _: None,
) -> RankedQueries:
    """Rank the queries ``first`` to ``last - 1`` of a task.

    Args:
        task: queries and relevant papers.
        rank: the system that is measured.
        first, last: the queries. Where ``first`` is a multiple of ``batch``, they are ranked with the same others as
            they are when the whole task is ranked.
        k: depth of the ranking.
        batch: queries ranked at a time.
        write: receives ids and ranking of each batch.
        advance: receives the number of queries ranked, after each batch.
    """
    bias = SelfCitationCounter(lambda rows: task.corpus.papers.take("authors", rows))
    parts, sums, seconds, empty = [], [], 0.0, 0
    for start in range(first, last, batch):
        queries = task.queries[start : min(start + batch, last)]
        begin = time.perf_counter()
        ranking = rank(queries, k)
        seconds += time.perf_counter() - begin
        citing = np.array([query.paper for query in queries], np.int32)
        parts.append(Hits.of(ranking, _rows(task.relevant, start, start + len(queries)), citing))
        sums.append(bias.sums([query.authors for query in queries], ranking))
        empty += int((ranking.rows == NO_ROW).all(axis=1).sum())
        write([query.id for query in queries], ranking)
        advance(len(queries))
    return RankedQueries(Hits.concatenate(parts), np.array(sums), seconds, empty)


def run(
    task: EvalTask,
    rank: Rank,
    *,
    k: int = 2000,
    batch: int = 64,
    to: Path | None = None,
    tag: str = "cocite",
    advance: Callable[[int], object] = lambda _: None,
) -> EvalResult:
    """Rank a task's queries.

    Args:
        task: queries and relevant papers.
        rank: the system that is measured.
        k: depth of the ranking.
        batch: queries ranked at a time: with ``k`` it bounds the memory.
        to: a TREC run file to write as well.
        tag: name of the system in that file.
        advance: receives the number of queries ranked, after each batch.
    """
    rank_all = partial(rank_some, task, rank, 0, len(task), k=k, batch=batch, advance=advance)
    if to is None:
        return EvalResult.of([rank_all()])
    with run_writer(to, partial(paper_ids, task.corpus), tag=tag) as writer:
        return EvalResult.of([rank_all(write=writer.write)])


def write_task_qrels(task: EvalTask, path: Path) -> None:
    """Write a task's qrels."""
    write_qrels(path, task.ids, task.relevant, lambda rows: paper_ids(task.corpus, rows))


def _rows(relevant: CSR, start: int, stop: int) -> CSR:
    """Some rows of a CSR, without a copy of its entries."""
    indptr: NDArray[np.int64] = relevant.indptr[start : stop + 1]
    return CSR(indptr - indptr[0], relevant.indices[indptr[0] : indptr[-1]])
