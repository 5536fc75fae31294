"""Rank all queries of a task, batch by batch, and keep what the metrics need."""

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
from cocite.evaluation.tasks import Task, paper_ids
from cocite.evaluation.trec import run_writer, write_qrels
from cocite.protocols import NO_ROW, Query, Ranking

Rank = Callable[[Sequence[Query], int], Ranking]
"""Gives the k best papers of each query: any retriever's ``search``, a recommender's ``rank``."""


@dataclass(frozen=True)
class Outcome:
    """What became of a task's queries.

    Attributes:
        hits: where the relevant papers stand.
        self_citation: where same-author papers stand.
        seconds: time spent in ranking alone.
        empty: how many queries got no candidate at all.
    """

    hits: Hits
    self_citation: SelfCitation
    seconds: float
    empty: int

    @property
    def milliseconds(self) -> float:
        """Mean time of a query."""
        return 1000 * self.seconds / max(len(self.hits), 1)


def run(
    task: Task,
    rank: Rank,
    *,
    k: int = 2000,
    batch: int = 64,
    to: Path | None = None,
    tag: str = "cocite",
    advance: Callable[[int], object] = lambda _: None,
) -> Outcome:
    """Rank a task's queries.

    Args:
        task: queries and relevant papers.
        rank: the system that is measured.
        k: depth of the ranking.
        batch: queries ranked at a time: with ``k`` it bounds the memory.
        to: a TREC run file to write as well.
        tag: name of the system in that file.
        advance: told how many queries are done, after each batch.
    """
    if to is None:
        return _run(task, rank, k, batch, lambda *_: None, advance)
    with run_writer(to, lambda rows: paper_ids(task.corpus, rows), tag=tag) as writer:
        return _run(task, rank, k, batch, writer.write, advance)


def write_task(task: Task, path: Path) -> None:
    """Write a task's qrels."""
    write_qrels(path, task.ids, task.relevant, lambda rows: paper_ids(task.corpus, rows))


def _run(
    task: Task,
    rank: Rank,
    k: int,
    batch: int,
    write: Callable[[list[str], Ranking], object],
    advance: Callable[[int], object],
) -> Outcome:
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
    return Outcome(Hits.concatenate(parts), bias.result(), seconds, empty)


def _rows(relevant: CSR, start: int, stop: int) -> CSR:
    """Some rows of a CSR, without a copy of its entries."""
    indptr: NDArray[np.int64] = relevant.indptr[start : stop + 1]
    return CSR(indptr - indptr[0], relevant.indices[indptr[0] : indptr[-1]])
