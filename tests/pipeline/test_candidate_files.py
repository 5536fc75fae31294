"""Candidates to train on: found as they were in each query's year, and kept as an artifact."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cocite.artifacts import verify
from cocite.corpus.builder import build
from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.corpus.synth import Synthetic
from cocite.errors import InputError, IntegrityError
from cocite.manifests import read_manifest
from cocite.pipeline.candidate_files import mine_candidates, prepare
from cocite.pipeline.first_stage import FirstStage
from cocite.pipeline.options import Options
from cocite.protocols import NO_ROW
from cocite.retrieval.bm25_retriever import Bm25Retriever
from cocite.retrieval.index.index import Index
from cocite.retrieval.index.sharded_index import ShardedIndex
from cocite.retrieval.index.snapshot import IndexSnapshot
from cocite.training.candidates import CandidateSet, CandidateSettings, load, save
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
    parts = mine_candidates(settings(task=task, retriever=retriever), periods, index)
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
    local = mine_candidates(settings(retriever="bm25"), periods, index)["train"]
    for i, position in enumerate(local.positions.tolist()):
        cited = set(corpus.context_cited[position].tolist()) - {int(corpus.context_citing[position])}
        assert set(local.cited[i].tolist()) == cited
        assert set(local.rows[i][local.relevant[i]].tolist()) == cited & set(local.rows[i].tolist())
    assert local.relevant.any()
    queries = local.queries(corpus)
    assert [query.context for query in queries] == corpus.contexts.take("text", local.positions)
    global_ = mine_candidates(settings(task="global", retriever="bm25"), periods, index)["train"]
    assert all(
        set(global_.cited[i].tolist()) == set(corpus.cites[row].tolist()) - {row}
        for i, row in enumerate(global_.positions.tolist())
    )


def test_the_first_stage_knows_nothing_of_the_querys_year(
    corpus: Corpus, periods: Periods, index: Index
) -> None:
    train = mine_candidates(settings(), periods, index)["train"]
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
    train = mine_candidates(given, periods, Index.build(one_year, periods.history))["train"]
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


def test_bm25_ranks_the_earlier_papers_as_it_would_rank_all(
    corpus: Corpus, periods: Periods, index: Index
) -> None:
    every = mine_candidates(settings(retriever="bm25", earlier_only=False, depth=600), periods, index)[
        "train"
    ]
    earlier = mine_candidates(settings(retriever="bm25"), periods, index)["train"]
    years = np.asarray(corpus.years)
    for i, query in enumerate(every.queries(corpus)[:10]):
        found = Bm25Retriever(index, "context+title").search([query], 600).rows[0]
        assert np.array_equal(every.rows[i], found)
        kept = found[(found != NO_ROW) & (years[found] <= (query.year or 0))][:30]
        assert np.array_equal(earlier.rows[i][: len(kept)], kept)
        assert (earlier.rows[i][len(kept) :] == NO_ROW).all()


def test_they_are_made_once_for_a_corpus_and_settings(corpus: Corpus, tmp_path: Path) -> None:
    folder, told = tmp_path / "candidates", []
    assert prepare(settings(), corpus, folder, stage=lambda *stage: told.append(stage))
    assert told == [
        ("candidates: indexing", 0),
        ("candidates: train queries", 60),
        ("candidates: dev queries", 20),
    ]
    digest = verify(folder).digest
    assert not prepare(settings(), corpus, folder)
    assert read_manifest(folder).digest == digest
    assert prepare(settings(queries=30), corpus, folder)
    assert len(load(folder, corpus)["train"]) == 30
    assert prepare(settings(), corpus, folder)
    assert read_manifest(folder).digest == digest


def test_what_is_read_is_what_was_written(
    corpus: Corpus, periods: Periods, index: Index, tmp_path: Path
) -> None:
    parts = mine_candidates(settings(), periods, index)
    save(tmp_path / "candidates", parts, {"corpus": corpus.version})
    for name, part in load(tmp_path / "candidates", corpus).items():
        assert part.task == "local"
        assert np.array_equal(part.rows, parts[name].rows)
        assert np.array_equal(part.positions, parts[name].positions)
        assert np.array_equal(part.cited.indices, parts[name].cited.indices)


def test_candidates_of_another_corpus_or_that_do_not_fit_are_refused(
    corpus: Corpus, periods: Periods, index: Index, tmp_path: Path
) -> None:
    parts = mine_candidates(settings(), periods, index)
    save(tmp_path / "other", parts, {"corpus": "another"})
    with pytest.raises(InputError, match="of another corpus"):
        load(tmp_path / "other", corpus)
    train = parts["train"]
    torn = CandidateSet("local", train.positions[:-1], train.rows, train.cited)
    save(tmp_path / "torn", {**parts, "train": torn}, {"corpus": corpus.version})
    with pytest.raises(IntegrityError, match="do not fit each other"):
        load(tmp_path / "torn", corpus)


def test_a_corpus_without_contexts_has_no_local_queries(tmp_path: Path) -> None:
    bare = build(Synthetic(300, seed=2, context_rate=0.0), tmp_path / "bare")
    with pytest.raises(InputError, match="no local query lies in the train period"):
        prepare(settings(retriever="bm25"), bare, tmp_path / "candidates")
    assert prepare(settings(task="global", retriever="bm25"), bare, tmp_path / "candidates")


@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize("retriever", ["first-stage", "bm25"])
def test_a_saved_index_gives_the_same_candidates(
    corpus: Corpus, tmp_path: Path, shards: int, retriever: str
) -> None:
    if shards == 1:
        IndexSnapshot.create(corpus, tmp_path / "index")
    else:
        ShardedIndex.create(corpus, tmp_path / "index", shards=shards)
    chosen = settings(retriever=retriever, queries=12, dev_queries=6)
    with_index = chosen.model_copy(update={"index": tmp_path / "index"})
    prepare(chosen, corpus, tmp_path / "anew")
    prepare(with_index, corpus, tmp_path / "saved")
    anew, saved = (load(tmp_path / name, corpus) for name in ("anew", "saved"))
    for part in ("train", "dev"):
        same = [np.isin(a, b).mean() for a, b in zip(anew[part].rows, saved[part].rows, strict=True)]
        assert np.mean(same) > 0.97
    assert not prepare(chosen, corpus, tmp_path / "saved"), "where words are counted does not determine them"
