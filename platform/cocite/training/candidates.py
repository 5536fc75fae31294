"""Candidates to train a reranker on: what the retriever before it finds for queries whose answers are known.

They are an artifact. The retrievers that make it belong to a higher layer (:mod:`cocite.pipeline.candidate_files`), so
a worker trains without an index.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from cocite.array_files import require_fit
from cocite.artifacts import load_array
from cocite.bounds import Depth, Location, Seed, Total
from cocite.config import Settings
from cocite.corpus.csr import CSR
from cocite.corpus.store import Corpus
from cocite.protocols import NO_ROW, Query
from cocite.text.queries import context_queries, manuscript_queries
from cocite.training.input_artifacts import open_input
from cocite.training.periods import PeriodSettings

KIND = "candidates"
WITHOUT_ENCODER = ("first-stage", "bm25")
"""The retrievers that need no trained encoder."""
PARTS = ("train", "dev")


class CandidateSettings(Settings):
    """Which queries, and which retriever's candidates, a reranker is trained on.

    Example:
        >>> CandidateSettings(task="global", depth=50).dev_queries
        300
    """

    task: Literal["local", "global"] = "local"
    """``local``: queries are contexts. ``global``: queries are papers, by title and abstract."""
    retriever: Literal["first-stage", "bm25", "nnselect", "hatten", "sentence", "mp-bert4cr"] = "first-stage"
    """``first-stage``: the blend of signals, whose weights were tuned on ACL's dev split. ``bm25``: title and abstract
    against context and citing title (local), or against title and abstract (global). The others: the nearest papers by
    that encoder of the model folder, which must be trained before."""
    period: PeriodSettings = PeriodSettings()
    """Which papers' links are trained on, and which tune."""
    years: int = Field(4, ge=1, le=9999)
    """Training queries come from the last so many years of the training period, where years separate it from dev."""
    queries: Total | None = 20_000
    """At most so many training queries, drawn evenly; unset: all."""
    depth: Depth = 100
    """Candidates of a training query."""
    dev_queries: Total = 300
    """At most so many dev queries, drawn evenly."""
    dev_depth: Depth = 50
    """Candidates of a dev query: what the dev metric reranks."""
    earlier_only: bool = True
    """Whether a training query's candidates are no later than its year, as they are for a manuscript of today. The
    papers keep later candidates."""
    seed: Seed = 0
    """Seed of the draw of queries."""
    index: Location | None = None
    """Path or URI of an index of the same corpus, whole or in shards, that knows the training period's links; its word
    statistics and counts are used instead of reading the texts again."""

    @property
    def components(self) -> tuple[str, ...]:
        """Components of the model folder that find the candidates."""
        return () if self.retriever in WITHOUT_ENCODER else (self.retriever,)


@dataclass(frozen=True)
class CandidateSet:
    """Queries of a corpus, the candidates of each, and what each cites.

    Attributes:
        task: ``local`` (a query is a context) or ``global`` (a paper).
        positions: (Q,) int64 where each query stands: in ``corpus.contexts``, or its row.
        rows: (Q, k) int32 candidates, best first, padded with ``NO_ROW``; never the query's own paper.
        cited: for each query, the rows it cites, found or not; not empty.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> corpus = starter_corpus()
        >>> papers = np.array([300, 301])
        >>> found = CandidateSet("global", papers, np.array([[4, 9], [7, NO_ROW]], np.int32),
        ...     cited_rows(corpus, "global", papers))
        >>> found.relevant.shape, found.queries(corpus)[0].title == corpus.paper(300).title
        ((2, 2), True)
    """

    task: str
    positions: NDArray[np.int64]
    rows: NDArray[np.int32]
    cited: CSR

    def __len__(self) -> int:
        return len(self.positions)

    @property
    def relevant(self) -> NDArray[np.bool_]:
        """(Q, k) whether the query cites the candidate."""
        return self.cited.contains(np.arange(len(self))[:, None], self.rows)

    def papers(self, corpus: Corpus) -> NDArray[np.int32]:
        """(Q,) row of the paper that each query comes from."""
        papers = corpus.context_citing[self.positions] if self.task == "local" else self.positions
        return np.asarray(papers, np.int32)

    def queries(self, corpus: Corpus) -> list[Query]:
        """The queries with their texts."""
        make = context_queries if self.task == "local" else manuscript_queries
        return make(corpus, self.positions)

    def take(self, chosen: NDArray[np.integer[Any]]) -> CandidateSet:
        """The candidates of some of the queries."""
        owner, cited = self.cited.gather(chosen)
        return CandidateSet(
            self.task, self.positions[chosen], self.rows[chosen], CSR.build(owner, cited, len(chosen))
        )


def training_positions(
    corpus: Corpus, settings: CandidateSettings, papers: NDArray[np.bool_], limit: int | None
) -> NDArray[np.int64]:
    """Ascending positions of the queries that come from some papers: their contexts, or the papers themselves.

    Args:
        corpus: the store.
        settings: which task, and the seed of the draw.
        papers: (N,) whose queries.
        limit: at most so many, drawn evenly.
    """
    if settings.task == "local":
        # A context that cites nothing but its own paper asks for nothing.
        own = corpus.context_citing
        positions = np.flatnonzero(papers[own] & _cites_others(corpus.context_cited, own))
    else:
        positions = np.flatnonzero(papers & _cites_others(corpus.cites, np.arange(len(corpus))))
    if limit is not None and len(positions) > limit:
        rng = np.random.default_rng([settings.seed, len(positions)])
        positions = np.sort(rng.choice(positions, limit, replace=False))
    return positions


def _cites_others(cites: CSR, own: NDArray[np.integer[Any]]) -> NDArray[np.bool_]:
    """(n,) whether a query cites another paper than its own, ``own``; a block of queries is in memory at a time."""
    found = np.zeros(len(cites), bool)
    for block, part in cites.blocks():
        query, cited = part.pairs()
        found[block] = np.bincount(query, cited != own[block][query], minlength=len(part)) > 0
    return found


def cited_rows(corpus: Corpus, task: str, positions: NDArray[np.int64]) -> CSR:
    """The papers that each query cites, its own paper left out."""
    own = corpus.context_citing[positions] if task == "local" else positions
    owner, rows = (corpus.context_cited if task == "local" else corpus.cites).gather(positions)
    keep = rows != own[owner]
    return CSR.build(owner[keep], rows[keep], len(positions))


def create(folder: Path, parts: Mapping[str, CandidateSet]) -> dict[str, np.memmap[Any, np.dtype[np.int32]]]:
    """Write the queries of an artifact, and what they cite, into its folder.

    Args:
        folder: the temporary folder of the artifact.
        parts: the queries of training and of dev; their candidates are not read.

    Returns:
        The files of the candidates (Q, k), memory-mapped, to be filled.
    """
    files = {}
    for name, part in parts.items():
        np.save(folder / f"{name}.positions.npy", part.positions, allow_pickle=False)
        np.save(folder / f"{name}.cited.indptr.npy", part.cited.indptr, allow_pickle=False)
        np.save(folder / f"{name}.cited.indices.npy", part.cited.indices, allow_pickle=False)
        path = folder / f"{name}.rows.npy"
        files[name] = np.lib.format.open_memmap(path, mode="w+", dtype=np.int32, shape=part.rows.shape)
    return files


def load(folder: Path, corpus: Corpus) -> dict[str, CandidateSet]:
    """Read what :func:`save` wrote.

    Raises:
        InputError: they were made of another corpus.
        IntegrityError: an array does not fit the others.
    """
    manifest = open_input(folder, KIND, corpus, what="candidates")
    result = {}
    for name in PARTS:
        get = {
            array: load_array(folder / f"{name}.{array}.npy")
            for array in ("positions", "rows", "cited.indptr", "cited.indices")
        }
        count = len(get["positions"])
        size = len(corpus.contexts) if manifest.meta["task"] == "local" else len(corpus)
        fits = (
            get["rows"].ndim == 2
            and len(get["rows"]) == count
            and len(get["cited.indptr"]) == count + 1
            and get["rows"].max(initial=NO_ROW) < len(corpus)
            and get["positions"].max(initial=-1) < size
        )
        require_fit(fits, folder, of=name)
        cited = CSR(get["cited.indptr"], get["cited.indices"])
        result[name] = CandidateSet(manifest.meta["task"], get["positions"], get["rows"], cited)
    return result
