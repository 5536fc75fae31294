"""Candidates to train on are found as they were in each query's year."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from helpers.candidate_sets import mine
from helpers.untrained_encoders import untrained_encoders

from cocite.corpus.builder import build
from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.corpus.synth import Synthetic
from cocite.errors import NotFoundError
from cocite.manifests import read_manifest
from cocite.pipeline.candidate_files import prepare
from cocite.pipeline.components import ENCODERS
from cocite.pipeline.first_stage import FirstStage
from cocite.pipeline.options import Options
from cocite.protocols import NO_ROW
from cocite.retrieval.bm25_retriever import Bm25Retriever
from cocite.retrieval.index.index import Index
from cocite.systems.citeomatic.nnselect.encoder import load_encoder
from cocite.training.candidates import WITHOUT_ENCODER, CandidateSettings, load
from cocite.training.periods import Periods


def settings(**values: Any) -> CandidateSettings:
    small = {"years": 2, "queries": 60, "depth": 30, "dev_queries": 20, "dev_depth": 12}
    return CandidateSettings.parse({**small, "period": {"train_until": 2015, "dev_until": 2017}, **values})


@pytest.fixture(scope="module")
def periods(corpus: Corpus) -> Periods:
    return Periods.of(corpus, settings().period)


@pytest.fixture(scope="module")
def index(corpus: Corpus, periods: Periods) -> Index:
    return Index.build(corpus, periods.history)


@pytest.mark.parametrize("task", ["local", "global"])
@pytest.mark.parametrize("retriever", ["first-stage", "bm25"])
def test_queries_and_candidates_are_of_their_time(
    corpus: Corpus, periods: Periods, index: Index, task: str, retriever: str
) -> None:
    parts = mine(settings(task=task, retriever=retriever), periods, index)
    years = np.asarray(corpus.years)
    train, dev = parts["train"], parts["dev"]
    asked = years[train.papers(corpus)]
    assert set(asked.tolist()) == {2014, 2015}
    assert set(years[dev.papers(corpus)].tolist()) <= {2016, 2017}
    assert (len(train), train.rows.shape[1], dev.rows.shape[1]) == (60, 30, 12)
    assert len(dev) == 20
    for part in (train, dev):
        real = part.rows != NO_ROW
        assert real.any(axis=1).all()
        assert not (part.rows == part.papers(corpus)[:, None]).any()
        for i in range(len(part)):
            found = part.rows[i][real[i]].tolist()
            assert len(set(found)) == len(found)
    real = train.rows != NO_ROW
    assert (years[train.rows] <= asked[:, None])[real].all()


def test_what_is_relevant_is_what_the_query_cites(corpus: Corpus, periods: Periods, index: Index) -> None:
    local = mine(settings(retriever="bm25"), periods, index)["train"]
    for i, position in enumerate(local.positions.tolist()):
        cited = set(corpus.context_cited[position].tolist()) - {int(corpus.context_citing[position])}
        assert set(local.cited[i].tolist()) == cited
        assert set(local.rows[i][local.relevant[i]].tolist()) == cited & set(local.rows[i].tolist())
    assert local.relevant.any()
    queries = local.queries(corpus)
    assert [query.context for query in queries] == corpus.contexts.take("text", local.positions)
    global_ = mine(settings(task="global", retriever="bm25"), periods, index)["train"]
    assert all(
        set(global_.cited[i].tolist()) == set(corpus.cites[row].tolist()) - {row}
        for i, row in enumerate(global_.positions.tolist())
    )


def test_the_first_stage_knows_nothing_of_the_querys_year(
    corpus: Corpus, periods: Periods, index: Index
) -> None:
    train = mine(settings(), periods, index)["train"]
    years = np.asarray(corpus.years)[train.papers(corpus)]
    for year in (2014, 2015):
        first = FirstStage(Index.build(corpus, History.until(corpus, year - 1)))
        some = train.take(np.flatnonzero(years == year)[:5])
        options = Options(top_k=30, depth=1, year_to=year, evidence=False)
        wanted = first.retrieve(some.queries(corpus), options, wide=30).ranking.rows
        assert np.array_equal(some.rows, wanted)


def test_where_years_do_not_separate_a_query_asks_all_but_its_own_links(tmp_path: Path) -> None:
    """As a dev query does: of earlier years, nothing would be known here."""
    one_year = build(Synthetic(400, seed=1, one_year=True), tmp_path / "store")
    given = settings(queries=40, period={})
    periods = Periods.of(one_year, given.period)
    train = mine(given, periods, Index.build(one_year, periods.history))["train"]
    for i in (0, 20, 39):
        others = periods.history.citing.copy()
        others[train.papers(one_year)[i]] = False
        first = FirstStage(Index.build(one_year, History(one_year, others)))
        queries = train.take(np.array([i])).queries(one_year)
        options = Options(top_k=30, depth=1, year_to=queries[0].year, evidence=False)
        wanted = first.retrieve(queries, options, wide=30).ranking.rows[0]
        # The same but for the statistics of its own contexts' words.
        assert len(set(train.rows[i].tolist()) & set(wanted.tolist())) >= 25
    assert prepare(given, one_year, tmp_path / "c")
    assert read_manifest(tmp_path / "c").meta["history"] == "split"
    assert not prepare(given, one_year, tmp_path / "c")


@pytest.mark.parametrize("earlier_only", [True, False])
def test_an_encoder_of_the_model_folder_finds_candidates(
    corpus: Corpus, periods: Periods, tmp_path: Path, earlier_only: bool
) -> None:
    given = settings(retriever="nnselect", earlier_only=earlier_only)
    with pytest.raises(NotFoundError, match=r"holds no nnselect.*train it into this folder first"):
        prepare(given, corpus, tmp_path / "candidates")
    untrained_encoders(corpus, tmp_path, seed=1)
    assert prepare(given, corpus, tmp_path / "candidates")
    assert not prepare(given, corpus, tmp_path / "candidates")
    encoder = load_encoder(tmp_path / "nnselect")
    vectors = encoder.encode_papers(corpus, np.arange(len(corpus), dtype=np.int32))
    years = np.asarray(corpus.years)
    found = load(tmp_path / "candidates", corpus)
    for name, part in found.items():
        asked = encoder.encode_queries(part.queries(corpus))
        for i, paper in enumerate(part.papers(corpus).tolist()):
            score = vectors @ asked[i]
            score[paper] = -np.inf
            if earlier_only and name == "train":
                score[years > years[paper]] = -np.inf
            best = np.sort(score)[::-1][: part.rows.shape[1]]
            assert score[part.rows[i]] == pytest.approx(best, abs=1e-5)
    late = years[found["train"].rows] > years[found["train"].papers(corpus)][:, None]
    assert late.any() == (not earlier_only)
    untrained_encoders(corpus, tmp_path, seed=2)  # another encoder finds others
    assert prepare(given, corpus, tmp_path / "candidates")


def test_every_encoder_may_find_candidates() -> None:
    retrievers = get_args(CandidateSettings.model_fields["retriever"].annotation)
    assert set(retrievers) == {*WITHOUT_ENCODER, *ENCODERS}


def test_bm25_ranks_the_earlier_papers_as_it_would_rank_all(
    corpus: Corpus, periods: Periods, index: Index
) -> None:
    every = mine(settings(retriever="bm25", earlier_only=False, depth=600), periods, index)["train"]
    earlier = mine(settings(retriever="bm25"), periods, index)["train"]
    years = np.asarray(corpus.years)
    for i, query in enumerate(every.queries(corpus)[:10]):
        found = Bm25Retriever(index, "context+title").search([query], 600).rows[0]
        assert np.array_equal(every.rows[i], found)
        kept = found[(found != NO_ROW) & (years[found] <= (query.year or 0))][:30]
        assert np.array_equal(earlier.rows[i][: len(kept)], kept)
        assert (earlier.rows[i][len(kept) :] == NO_ROW).all()
