"""Ranking all queries of a task, batch by batch, and keeping what the metrics need."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
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

    @property
    def milliseconds(self) -> float:
        """Mean time of a query, in milliseconds."""
        return 1000 * self.seconds / max(len(self.hits), 1)


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
    if to is None:
        return _run(task, rank, k, batch, lambda *_: None, advance)
    with run_writer(to, lambda rows: paper_ids(task.corpus, rows), tag=tag) as writer:
        return _run(task, rank, k, batch, writer.write, advance)


def write_task_qrels(task: EvalTask, path: Path) -> None:
    """Write a task's qrels."""
    write_qrels(path, task.ids, task.relevant, lambda rows: paper_ids(task.corpus, rows))


def _run(
    task: EvalTask,
    rank: Rank,
    k: int,
    batch: int,
    write: Callable[[list[str], Ranking], object],
    advance: Callable[[int], object],
) -> EvalResult:
    papers = task.corpus.papers
    bias = SelfCitationCounter(lambda rows: papers.take("authors", rows))
    parts, seconds, empty = [], 0.0, 0
    for start in range(0, len(task), batch):
        queries = task.queries[start : start + batch]
        begin = time.perf_counter()
        ranking = rank(queries, k)
        seconds += time.perf_counter() - begin
        parts.append(Hits.of(ranking, _rows(task.relevant, start, start + len(queries))))
        bias.add([query.authors for query in queries], ranking)
        empty += int((ranking.rows == NO_ROW).all(axis=1).sum())
        write([query.id for query in queries], ranking)
        advance(len(queries))
    return EvalResult(Hits.concatenate(parts), bias.result(), seconds, empty)


def _rows(relevant: CSR, start: int, stop: int) -> CSR:
    """Some rows of a CSR, without a copy of its entries."""
    indptr: NDArray[np.int64] = relevant.indptr[start : stop + 1]
    return CSR(indptr - indptr[0], relevant.indices[indptr[0] : indptr[-1]])
