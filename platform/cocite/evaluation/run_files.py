"""Evaluate a TREC run file against qrels, in one pass and flat memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.csr import CSR
from cocite.errors import InputError
from cocite.evaluation import reference_metrics
from cocite.evaluation.hits import UNRANKED, Hits
from cocite.evaluation.slices import SelfCitation, SelfCitationCounter
from cocite.evaluation.trec import DocumentNumbers, Qrels, read_run
from cocite.protocols import NO_ROW, Ranking

BATCH = 256
"""Queries read at a time."""


@dataclass(frozen=True)
class RunFileResult:
    r"""Where the relevant documents stand in a run.

    Attributes:
        ids: queries of the qrels, in their order.
        hits: of those queries; ``rows`` are document numbers.
        missing: how many of them the run lacks: they count as zero.
        unjudged: how many queries of the run the qrels lack: they are left out.
        self_citation: the ranks of same-author papers, where authors were given.

    Example:
        >>> import tempfile
        >>> from cocite.evaluation.metrics import means
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "run.trec")
        ...     _ = path.write_text("q Q0 p1 1 0.9 bm25\nq Q0 p2 2 0.8 bm25\n")
        ...     result = evaluate_run_file(path, Qrels({"q": ["p2"], "r": ["p3"]}))
        >>> result.missing, means(result.hits, ["MRR"])
        (1, {'MRR': 0.25})
    """

    ids: list[str]
    hits: Hits
    missing: int
    unjudged: int
    self_citation: SelfCitation | None


@dataclass(frozen=True)
class AuthorLookup:
    """The authors of queries and of documents.

    Attributes:
        of_query: by query id.
        of_rows: returns the authors of some document numbers.

    Example:
        >>> lookup = AuthorLookup({"q": ("Ada Lovelace",)}, lambda rows: [("Ada Lovelace",)] * len(rows))
        >>> lookup.of_query["q"] in lookup.of_rows([7])
        True
    """

    of_query: dict[str, tuple[str, ...]]
    of_rows: Callable[[Any], Sequence[Sequence[str]]]


def evaluate_run_file(
    path: str | Path,
    qrels: Qrels,
    documents: DocumentNumbers | None = None,
    *,
    authors: AuthorLookup | None = None,
    papers: Mapping[str, int] | None = None,
    advance: Callable[[int], object] = lambda _: None,
) -> RunFileResult:
    """Find the relevant documents of a run.

    Args:
        path: the run.
        qrels: what is relevant.
        documents: numbers of documents, among them all relevant ones; by default just those.
        authors: to measure self-citation too; ``documents`` must then number all papers.
        papers: the paper that each query comes from, by query id; kept with the hits.
        advance: receives the number of queries read since its last call.

    Raises:
        InputError: the run is malformed, or shares no query with the qrels.
    """
    documents = documents or DocumentNumbers(qrels.documents)
    ids = list(qrels.relevant)
    position = {query: i for i, query in enumerate(ids)}
    relevant = _relevant(qrels, documents)
    counter = SelfCitationCounter(authors.of_rows) if authors else None
    parts: list[Hits] = []
    order: list[int] = []
    unjudged = 0
    for queries, ranking in read_run(path, documents.rows, batch=BATCH):
        known = np.array([query in position for query in queries])
        unjudged += int((~known).sum())
        positions = [position[query] for query in queries if query in position]
        judged = Ranking(ranking.rows[known], ranking.scores[known])
        owner, rows = relevant.gather(np.array(positions, np.int64))
        parts.append(Hits.of(judged, CSR.build(owner, rows, len(positions))))
        order += positions
        if counter is not None and authors is not None:
            counter.add([authors.of_query.get(ids[i], ()) for i in positions], judged)
        advance(len(queries))
    if not order:
        raise InputError(
            "no query of the run is in the qrels", where=str(path), hint="do they belong together?"
        )
    missing = np.setdiff1d(np.arange(len(ids)), order)
    parts.append(_unranked(relevant, missing))
    # The batches stand in the order of the run, the result in that of the qrels.
    positions_of_parts = np.concatenate([np.array(order, np.int64), missing])
    hits = Hits.concatenate(parts).take(np.argsort(positions_of_parts, kind="stable"))
    if papers is not None:
        hits = replace(hits, citing=np.array([papers.get(query, NO_ROW) for query in ids], np.int32))
    return RunFileResult(ids, hits, len(missing), unjudged, counter.result() if counter else None)


def reference_means(path: str | Path, qrels: Qrels, metrics: Sequence[str]) -> dict[str, float]:
    """Means of those metrics that ir_measures has too, as it computes them from the file as it reads it."""
    comparable = [name for name in metrics if reference_metrics.is_comparable(name)]
    return reference_metrics.means(qrels.relevant, _library_parts(Path(path)), comparable)


def _library_parts(path: Path) -> Iterator[dict[str, dict[str, float]]]:
    """The run as ir_measures reads it, :data:`BATCH` queries at a time."""
    import ir_measures

    part: dict[str, dict[str, float]] = {}
    for query, lines in groupby(ir_measures.read_trec_run(str(path)), key=lambda line: line.query_id):
        part[query] = {line.doc_id: line.score for line in lines}
        if len(part) == BATCH:
            yield part
            part = {}
    if part:
        yield part


def _relevant(qrels: Qrels, documents: DocumentNumbers) -> CSR:
    owners = np.repeat(np.arange(len(qrels)), [len(names) for names in qrels.relevant.values()])
    rows = documents.rows([name for names in qrels.relevant.values() for name in names])
    return CSR.build(owners, rows, len(qrels))


def _unranked(relevant: CSR, queries: NDArray[np.int64]) -> Hits:
    """The hits of queries without a ranking."""
    owner, rows = relevant.gather(queries)
    part = CSR.build(owner, rows, len(queries))
    return Hits(part.indptr, np.full(len(rows), UNRANKED, np.int32), part.indices, 0)
