"""Makes the candidates that a reranker is trained on: what a retriever finds with the history that it has in use.

Where years separate the training papers from dev, a training query searches an index without the links of its own year
and later, so neither its own links nor its contemporaries' vote for what it cites: just as for a manuscript of today.
Elsewhere (a random split, one year) it searches an index with the links of all training papers but its own, as a dev
query does.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.manifests import holds
from cocite.pipeline.first_stage import FirstStage
from cocite.pipeline.options import Options
from cocite.protocols import NO_ROW
from cocite.retrieval.index.opening import open_index
from cocite.retrieval.index.reuse import index_of
from cocite.retrieval.index.search_index import SearchIndex
from cocite.retrieval.query_forms import QueryForm
from cocite.retrieval.sharded_retrievers import bm25_retriever
from cocite.training.candidates import (
    KIND,
    CandidateSet,
    CandidateSettings,
    cited_rows,
    save,
    training_positions,
)
from cocite.training.input_artifacts import determining_settings
from cocite.training.periods import Periods

Advance = Callable[[int], object]

BLOCK = 256
"""Queries searched together."""


def prepare(
    settings: CandidateSettings,
    corpus: Corpus,
    folder: Path,
    *,
    stage: Callable[[str, int], object] = lambda *_: None,
    advance: Advance = lambda _: None,
) -> bool:
    """Make the candidates unless the folder holds those of this corpus and these settings already.

    Args:
        settings: whose candidates.
        corpus: papers, links and contexts.
        folder: where the artifact is or is to be.
        stage: called with a description of each part and its number of queries.
        advance: called with the number of queries of each finished batch.

    Returns:
        Whether the candidates were made.
    """
    periods = Periods.of(corpus, settings.period)
    meta = {"corpus": corpus.version, "settings": determining_settings(settings)}
    if not periods.years_separate:
        meta["history"] = "split"
    if holds(folder, kind=KIND, meta=meta):
        return False
    stage("candidates: indexing", 0)
    saved = open_index(settings.index) if settings.index is not None else None
    index = index_of(corpus, periods.history, saved=saved)
    save(folder, mine_candidates(settings, periods, index, stage=stage, advance=advance), meta)
    return True


def mine_candidates(
    settings: CandidateSettings,
    periods: Periods,
    index: SearchIndex,
    *,
    stage: Callable[[str, int], object] = lambda *_: None,
    advance: Advance = lambda _: None,
) -> dict[str, CandidateSet]:
    """The candidates of training and of dev queries.

    Args:
        settings: whose candidates.
        periods: training papers and dev papers.
        index: of the corpus, with the training period as its history.
        stage: called with a description of each part and its number of queries.
        advance: called with the number of queries of each finished batch.

    Raises:
        InputError: a period has no query.
    """
    corpus, years = index.corpus, np.asarray(index.corpus.years)
    training = periods.history.citing
    querying = training & (corpus.cites.degrees > 0)
    by_year = periods.years_separate
    if by_year and (years[querying] > 0).any():
        latest = int(years[querying].max())
        querying &= years > latest - settings.years
    dev = np.zeros(len(corpus), bool)
    dev[periods.dev] = True
    parts = {}
    for name, papers, limit, depth in (
        ("train", querying, settings.queries, settings.depth),
        ("dev", dev, settings.dev_queries, settings.dev_depth),
    ):
        positions = training_positions(corpus, settings, papers, limit)
        if not len(positions):
            raise InputError(
                f"no {settings.task} query lies in the {name} period",
                where=str(corpus.path),
                hint="the global task needs links alone, the local one contexts",
            )
        stage(f"candidates: {name} queries", len(positions))
        cited = cited_rows(corpus, settings.task, positions)
        empty = np.full((len(positions), min(depth, len(corpus))), NO_ROW, np.int32)
        part = CandidateSet(settings.task, positions, empty, cited)
        _fill(part, settings, index, training=name == "train", by_year=by_year, advance=advance)
        parts[name] = part
    return parts


def _fill(
    part: CandidateSet,
    settings: CandidateSettings,
    index: SearchIndex,
    *,
    training: bool,
    by_year: bool,
    advance: Advance,
) -> None:
    """Write the candidates of each query into ``part.rows``; of a training query those of its time, if ``by_year``."""
    corpus = index.corpus
    years = np.asarray(corpus.years)[part.papers(corpus)]
    # There is no history before a paper without a year; its own links are left out in any case.
    query_years = np.unique(years) if training else np.zeros(1, years.dtype)
    for year in query_years.tolist():
        group = np.flatnonzero(years == year) if training else np.arange(len(part))
        history = index.rewind(year - 1) if year and by_year else index
        find = _finder(settings, history, year if settings.earlier_only else 0)
        for start in range(0, len(group), BLOCK):
            block = group[start : start + BLOCK]
            part.rows[block] = find(part.take(block))
            advance(len(block))


def _finder(
    settings: CandidateSettings, index: SearchIndex, latest: int
) -> Callable[[CandidateSet], NDArray[np.int32]]:
    """The function that finds the candidates of some queries: none later than ``latest``, unless it is 0."""
    if settings.retriever == "first-stage":
        first = FirstStage(index)

        def blend(part: CandidateSet) -> NDArray[np.int32]:
            width = part.rows.shape[1]
            options = Options(top_k=width, depth=1, year_to=latest or None, evidence=False)
            return first.retrieve(part.queries(index.corpus), options, wide=width).ranking.rows

        return blend
    form = QueryForm.CONTEXT_TITLE if settings.task == "local" else QueryForm.TITLE_ABSTRACT
    retriever = bm25_retriever(index, form)
    allowed = np.asarray(index.corpus.years) <= latest if latest else np.ones(len(index), bool)

    def lexical(part: CandidateSet) -> NDArray[np.int32]:
        width = part.rows.shape[1]
        # BM25 scores a paper by itself, so a deep ranking without the later papers is that of the earlier ones.
        rows = retriever.search(part.queries(index.corpus), len(index) if latest else width).rows
        late = (rows != NO_ROW) & ~allowed[np.maximum(rows, 0)]
        rows = np.where(late, NO_ROW, rows)
        order = np.argsort(rows == NO_ROW, axis=1, kind="stable")[:, :width]
        return np.take_along_axis(rows, order, 1)

    return lexical
