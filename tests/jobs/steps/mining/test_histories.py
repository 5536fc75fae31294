"""The histories of a mining: made once each, whatever number of blocks and workers searches them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.synthetic import SyntheticCorpora

from cocite.corpus.store import Corpus
from cocite.errors import InputError, NotFoundError
from cocite.pipeline.candidate_mining import Miner, MiningPlan
from cocite.retrieval.index.sharded_index import ShardedIndex
from cocite.retrieval.index.snapshot import IndexSnapshot
from cocite.training.candidates import CandidateSettings
from cocite.training.periods import Periods
from cocite_jobs.steps.mining.histories import MakeHistories
from cocite_jobs.storage.location import Location


@pytest.fixture(scope="module")
def corpus(synthetic: SyntheticCorpora) -> Corpus:
    return synthetic(300, seed=9)


def settings_of(index: Path, **more: object) -> CandidateSettings:
    given = {"years": 3, "queries": 60, "depth": 20, "dev_queries": 20, "period": {"train_until": 2015}}
    return CandidateSettings.parse({**given, "index": str(index), **more})


@pytest.mark.parametrize("place", ["local", "elsewhere"])
@pytest.mark.parametrize("shards", [1, 3])
def test_candidates_are_those_of_an_index_rewound_in_memory(
    corpus: Corpus, tmp_path: Path, remote: str, place: str, shards: int
) -> None:
    if shards == 1:
        IndexSnapshot.create(corpus, tmp_path / "index")
    else:
        ShardedIndex.create(corpus, tmp_path / "index", shards=shards)
    settings = settings_of(tmp_path / "index")
    periods = Periods.of(corpus, settings.period)
    plan = MiningPlan.of(settings, periods)
    to = Location.of(tmp_path / "parts" if place == "local" else f"{remote}/parts")
    work = MakeHistories(str(corpus.path), corpus.version, settings, to)
    parts = work.parts(plan)
    assert [part.arguments for part in parts] == [0, 2013, 2014, 2015]
    make = work.open()
    for part in parts:
        assert make(part)["seconds"] > 0
    make(parts[1])  # by another worker, after the first one died
    histories = work.reader()
    assert histories(2014).history.year == 2013
    assert histories(0).history.year == 2015
    shared = Miner(plan, histories)
    alone = Miner.over(histories(0), plan)
    for block in plan.blocks:
        assert np.array_equal(shared.find(block), alone.find(block))


def test_where_years_do_not_separate_there_is_one(synthetic: SyntheticCorpora, tmp_path: Path) -> None:
    corpus = synthetic(300, seed=1, one_year=True)
    settings = settings_of(tmp_path / "index", period={})
    plan = MiningPlan.of(settings, Periods.of(corpus, settings.period))
    work = MakeHistories(str(corpus.path), corpus.version, settings, Location.of(tmp_path))
    assert [part.name for part in work.parts(plan)] == ["history-0000"]


def test_another_corpus_and_a_history_that_is_not_there_are_refused(corpus: Corpus, tmp_path: Path) -> None:
    IndexSnapshot.create(corpus, tmp_path / "index")
    settings, to = settings_of(tmp_path / "index"), Location.of(tmp_path / "parts")
    with pytest.raises(InputError, match="sees another corpus here than the command"):
        MakeHistories(str(corpus.path), "0000", settings, to).open()
    with pytest.raises(NotFoundError, match="sees no such folder"):
        MakeHistories(str(corpus.path), corpus.version, settings, to).reader()(2014)
