"""Judge a TREC run file against qrels, in one pass and flat memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from cocite.corpus.csr import CSR
from cocite.errors import InputError
from cocite.evaluation import confirm
from cocite.evaluation.hits import UNRANKED, Hits
from cocite.evaluation.slices import SelfCitation, SelfCitationCounter
from cocite.evaluation.trec import Qrels, Vocabulary, read_run

BATCH = 256
"""Queries read at a time."""


@dataclass(frozen=True)
class Judged:
    """A run, judged.

    Attributes:
        ids: queries of the qrels, in their order.
        hits: of those queries; ``rows`` are numbers of the vocabulary.
        missing: how many of them the run lacks: they count as zero.
        unjudged: how many queries of the run the qrels lack: they are left out.
        self_citation: when authors were given.
    """

    ids: list[str]
    hits: Hits
    missing: int
    unjudged: int
    self_citation: SelfCitation | None


@dataclass(frozen=True)
class Authors:
    """Who wrote what: by query id, and by number of the vocabulary."""

    of_query: dict[str, tuple[str, ...]]
    of_rows: Callable[[Any], Sequence[Sequence[str]]]


def judge(
    path: str | Path,
    qrels: Qrels,
    vocabulary: Vocabulary | None = None,
    *,
    authors: Authors | None = None,
    advance: Callable[[int], object] = lambda _: None,
) -> Judged:
    """Find the relevant documents of a run.

    Args:
        path: the run.
        qrels: what is relevant.
        vocabulary: numbers for documents; it must hold all that are relevant. By default just those.
        authors: to measure self-citation too; the vocabulary must then hold all papers.
        advance: told how many queries were read.
    """
    vocabulary = vocabulary or Vocabulary(qrels.documents)
    ids = list(qrels.relevant)
    position = {query: i for i, query in enumerate(ids)}
    relevant = _relevant(qrels, vocabulary)
    counter = SelfCitationCounter(authors.of_rows) if authors else None
    parts: list[Hits] = []
    order: list[int] = []
    unjudged = 0
    for queries, ranking in read_run(path, vocabulary.rows, batch=BATCH):
        known = np.array([query in position for query in queries])
        unjudged += int((~known).sum())
        at = [position[query] for query in queries if query in position]
        chosen = type(ranking)(ranking.rows[known], ranking.scores[known])
        owner, rows = relevant.gather(np.array(at, np.int64))
        parts.append(Hits.of(chosen, CSR.build(owner, rows, len(at))))
        order += at
        if counter is not None and authors is not None:
            counter.add([authors.of_query.get(ids[i], ()) for i in at], chosen)
        advance(len(queries))
    if not order:
        raise InputError(
            "no query of the run is in the qrels", where=str(path), hint="do they belong together?"
        )
    missing = np.setdiff1d(np.arange(len(ids)), order)
    parts.append(_unranked(relevant, missing))
    both = np.concatenate([np.array(order, np.int64), missing])
    hits = Hits.concatenate(parts).take(np.argsort(both, kind="stable"))
    return Judged(ids, hits, len(missing), unjudged, counter.result() if counter else None)


def confirmed(path: str | Path, qrels: Qrels, metrics: Sequence[str]) -> dict[str, float]:
    """Means of those metrics that ir_measures has too, computed by it, from the file as it reads it."""
    return confirm.means(
        qrels.relevant, _library_parts(Path(path)), [name for name in metrics if confirm.has(name)]
    )


def _library_parts(path: Path) -> Iterator[dict[str, dict[str, float]]]:
    import ir_measures

    part: dict[str, dict[str, float]] = {}
    for query, lines in groupby(ir_measures.read_trec_run(str(path)), key=lambda line: line.query_id):
        part[query] = {line.doc_id: line.score for line in lines}
        if len(part) == BATCH:
            yield part
            part = {}
    if part:
        yield part


def _relevant(qrels: Qrels, vocabulary: Vocabulary) -> CSR:
    owners = np.repeat(np.arange(len(qrels)), [len(names) for names in qrels.relevant.values()])
    rows = vocabulary.rows([name for names in qrels.relevant.values() for name in names])
    return CSR.build(owners, rows, len(qrels))


def _unranked(relevant: CSR, queries: np.ndarray[Any, np.dtype[np.int64]]) -> Hits:
    owner, rows = relevant.gather(queries)
    part = CSR.build(owner, rows, len(queries))
    return Hits(part.indptr, np.full(len(rows), UNRANKED, np.int32), part.indices, 0)
