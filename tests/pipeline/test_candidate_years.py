"""Which years the candidates of a query with a year may have: where papers are recommended, none later than its own."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from helpers.noisy_cross_encoder import NoisyCrossEncoder
from helpers.pipeline_queries import queries_of
from hypothesis import given, settings
from hypothesis import strategies as st

from cocite.corpus.builder import build
from cocite.corpus.csr import CSR
from cocite.corpus.history import History
from cocite.corpus.records import PaperRecord, Record
from cocite.corpus.store import Corpus
from cocite.corpus.synth import Synthetic
from cocite.errors import InputError
from cocite.pipeline.first_stage import FirstStage
from cocite.pipeline.fusion_candidates import StagedCandidates
from cocite.pipeline.options import CandidateScope, Options
from cocite.pipeline.recommender import Recommender
from cocite.pipeline.second_stage import SecondStage
from cocite.protocols import NO_ROW, Query
from cocite.retrieval.index.index import Index
from cocite.systems.learned_fusion.examples import collect_examples
from cocite.systems.learned_fusion.recipe import FusionRecipe
from cocite.systems.learned_fusion.task import train_measured


@pytest.fixture(scope="module")
def dated(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """200 papers with contexts, each tenth of an unknown year."""

    def undated(number: int, record: Record) -> Record:
        return replace(record, year=0) if isinstance(record, PaperRecord) and number % 10 == 3 else record

    records = [
        undated(number, record) for number, record in enumerate(Synthetic(200, seed=4, context_rate=4.0))
    ]
    corpus = build(records, tmp_path_factory.mktemp("dated") / "corpus")
    assert 0 < (corpus.years == 0).sum() < 100
    return corpus


@pytest.fixture(scope="module")
def manuscripts(dated: Corpus) -> list[Query]:
    """Gaps and whole papers, in turn."""
    with_contexts = np.unique(dated.context_citing)[-16:].tolist()
    return [queries_of(dated, [row], context=bool(number % 2))[0] for number, row in enumerate(with_contexts)]


@pytest.fixture(scope="module")
def recommender(dated: Corpus, manuscripts: list[Query]) -> Recommender:
    """Both stages, with a learned fusion and a cross-encoder."""
    first = FirstStage(Index.build(dated, History.all(dated)))
    fusions = {}
    for kind in ("local", "global"):
        queries = [query for query in manuscripts if query.is_local == (kind == "local")]
        relevant = CSR.build(*dated.cites.gather(np.array([query.paper for query in queries])), len(queries))
        data = collect_examples(
            StagedCandidates(first, SecondStage(first.index), depth=40), queries, relevant
        )
        trees = {"trees": {"trees": 5, "leaves": 4, "threads": 1}}
        fusions[kind] = train_measured(data, FusionRecipe.parse(trees)).fusion
    return Recommender(
        first, SecondStage(first.index, fusions=fusions, cross_encoder=NoisyCrossEncoder(dated))
    )


def with_years(manuscripts: list[Query], years: list[int | None]) -> list[Query]:
    return [replace(query, year=year) for query, year in zip(manuscripts, years, strict=False)]


# From before the first paper of the corpus to after its last.
YEARS = st.lists(st.one_of(st.none(), st.integers(1985, 2025)), min_size=1, max_size=6)


@settings(max_examples=30)
@given(years=YEARS, depth=st.integers(1, 250), top_k=st.integers(1, 250), rerank=st.integers(0, 60))
def test_nothing_later_than_its_query_is_recommended(
    dated: Corpus,
    recommender: Recommender,
    manuscripts: list[Query],
    years: list[int | None],
    depth: int,
    top_k: int,
    rerank: int,
) -> None:
    queries = with_years(manuscripts, years)
    options = Options(top_k=top_k, depth=depth, rerank=rerank, evidence=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = recommender.recommend_all(queries, options)
    for query, papers in zip(queries, found, strict=True):
        rows = [paper.row for paper in papers]
        allowed = np.asarray(dated.years) <= (query.year or 3000)
        allowed[query.paper] = False
        assert allowed[rows].all()
        assert len(set(rows)) == len(rows) == min(top_k, depth, int(allowed.sum()))
        assert np.isfinite([paper.score for paper in papers]).all()


@settings(max_examples=20)
@given(years=YEARS, depth=st.integers(1, 60))
def test_with_all_candidates_the_year_limits_nothing(
    recommender: Recommender, manuscripts: list[Query], years: list[int | None], depth: int
) -> None:
    queries = with_years(manuscripts, years)
    options = Options(depth=depth, evidence=False)
    both = recommender.second.rerank(queries, recommender.first.retrieve(queries, options), options)
    assert recommender.recommend_all(queries, replace(options, candidates="all")) == both
    later = Options(depth=depth, evidence=False, year_to=2999)
    assert all(paper.year > 0 for papers in recommender.recommend_all(queries, later) for paper in papers)


def test_the_first_stage_leaves_out_what_is_later_and_changes_nothing_else(
    dated: Corpus, recommender: Recommender, manuscripts: list[Query]
) -> None:
    queries = with_years(manuscripts, [2004, None, 2012, 1995, 2004, 2017])

    def rows(candidates: CandidateScope) -> np.ndarray:
        options = Options(depth=200, candidates=candidates)
        return recommender.first.retrieve(queries, options).ranking.rows

    years = np.asarray(dated.years)
    for query, older, every in zip(queries, rows("older"), rows("all"), strict=True):
        kept = every[(every != NO_ROW) & (years[every] <= (query.year or 3000))]
        np.testing.assert_array_equal(older[older != NO_ROW], kept)
        assert (years[kept] == 0).any(), "papers of unknown year stay"


def test_an_explicit_last_year_takes_the_place_of_the_querys(
    recommender: Recommender, manuscripts: list[Query]
) -> None:
    [query] = with_years(manuscripts, [2000])
    for year_to in (1996, 2010):
        papers = recommender.recommend(query, Options(top_k=150, depth=150, year_to=year_to))
        assert max(paper.year for paper in papers) == year_to
    assert max(paper.year for paper in recommender.recommend(query)) <= 2000


def test_a_first_year_after_the_querys_is_refused(recommender: Recommender, manuscripts: list[Query]) -> None:
    queries = with_years(manuscripts, [2015, 2000])
    with pytest.raises(InputError, match="year_from 2010 is later than the query's year, 2000"):
        recommender.recommend_all(queries, Options(year_from=2010))
    for options in (Options(year_from=2010, candidates="all"), Options(year_from=2010, year_to=2012)):
        assert all(recommender.recommend_all(queries, options))


def test_a_run_keeps_all_candidates_unless_the_query_limits_them(
    dated: Corpus, recommender: Recommender, manuscripts: list[Query]
) -> None:
    queries = with_years(manuscripts, [2000, 1985, None])
    assert (recommender.rank(queries, 150).rows != NO_ROW).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        limited = recommender.rank([query.older_candidates() for query in queries], 150, depth=10)
    assert (np.asarray(dated.years)[limited.rows[0][limited.rows[0] != NO_ROW]] <= 2000).all()
    undated = dated.years[limited.rows[1][limited.rows[1] != NO_ROW]]
    assert (undated == 0).all()
    assert (limited.rows[2] != NO_ROW).all()
    for rows, scores in zip(limited.rows, limited.scores, strict=True):
        np.testing.assert_array_equal(np.isneginf(scores), rows == NO_ROW)
        assert (np.diff(scores[rows != NO_ROW]) <= 0).all()
