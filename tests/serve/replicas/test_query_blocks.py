"""The retriever's blocks over the starter corpus: each query of a block gets what it gets alone."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cocite.corpus.starter import build_starter
from cocite.errors import InputError
from cocite.pipeline.first_stage import FirstStage
from cocite.pipeline.options import Options
from cocite.pipeline.second_stage import SecondStage
from cocite.protocols import Query
from cocite.retrieval.index.opening import open_index
from cocite.retrieval.index.snapshot import IndexSnapshot
from cocite.retrieval.remote_shards import ShardsUnavailableError
from cocite_serve.replicas.pace import MEASUREMENTS
from cocite_serve.replicas.query_blocks import (
    FIRST_ATTEMPTS,
    GUESS_S,
    QUERY_COST,
    QueryBlocks,
    Recommend,
    Search,
)


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> FirstStage:
    folder: Path = tmp_path_factory.mktemp("blocks")
    IndexSnapshot.create(build_starter(folder / "corpus"), folder / "index")
    return FirstStage(open_index(folder / "index"))


def test_a_query_of_a_block_gets_the_candidates_that_it_gets_alone(first: FirstStage) -> None:
    titles, options = ("Machine translation", "Parsing", "Word vectors"), Options(depth=20)
    searches = [Search(Query(title, title=title), options) for title in titles]
    blocks = QueryBlocks(first)
    assert [blocks.open(search).tolist() for search in searches] == [[QUERY_COST]] * 3
    blocks.read([(search, 1) for search in searches])
    for search in searches:
        found, alone = blocks.close(search, 1), first.retrieve([search.query], options)
        np.testing.assert_array_equal(found.ranking.rows, alone.ranking.rows)
        np.testing.assert_allclose(found.ranking.scores, alone.ranking.scores, atol=1e-5)
        assert found.signals.keys() == alone.signals.keys()
        assert found.sentence_voters is not None
        assert len(found.sentence_voters) == 1


def test_papers_of_a_block_are_those_that_a_query_gets_alone(first: FirstStage) -> None:
    second, options = SecondStage(first.index), Options(depth=20, top_k=5)
    jobs = [Recommend(Query(title, title=title), options, second) for title in ("Translation", "Parsing")]
    blocks = QueryBlocks(first)
    blocks.read([(job, 1) for job in jobs])
    for job in jobs:
        found = blocks.close(job, 1)
        [alone] = second.rerank([job.query], first.retrieve([job.query], options), options)
        assert [(paper.id, paper.evidence) for paper in found.papers] == [
            (paper.id, paper.evidence) for paper in alone
        ]
        assert found.order_s > 0
        assert job.group != Search(job.query, options).group, "they are computed otherwise"


def test_queries_with_other_options_are_of_another_group() -> None:
    query = Query("q", title="Parsing")
    assert Search(query, Options()).group == Search(query, Options()).group
    for other in (Options(year_to=2010), Options(exclude=(3,)), Options(depth=20)):
        assert Search(query, Options()).group != Search(query, other).group


def test_the_measured_pace_is_of_one_query(first: FirstStage) -> None:
    assert 0 < QueryBlocks(first).measure().seconds(QUERY_COST) < 60


def test_while_a_shard_is_away_the_pace_is_a_guess() -> None:
    class Away:
        def retrieve(self, *_: object) -> None:
            raise ShardsUnavailableError.of({1: "its process ended"}, 3)

    stage: Any = Away()
    assert QueryBlocks(stage).measure().seconds(QUERY_COST) == pytest.approx(GUESS_S)


def test_a_first_measurement_waits_for_shards_that_are_late() -> None:
    class Late:
        asked = 0

        def retrieve(self, *_: object) -> None:
            self.asked += 1
            if self.asked < 3:
                raise ShardsUnavailableError.of({1: "no reply within 5 s"}, 3)
            time.sleep(0.001)

    stage: Any = Late()
    assert QueryBlocks(stage).measure(FIRST_ATTEMPTS).seconds(QUERY_COST) != pytest.approx(GUESS_S)
    assert stage.asked == 3 + MEASUREMENTS  # the third is the warm-up


def test_what_is_wrong_with_a_query_is_said(first: FirstStage) -> None:
    wrong = Search(Query("q", title="Parsing", year=2010), Options(year_from=2015, candidates="older"))
    with pytest.raises(InputError, match="year_from 2015 is later than the query's year, 2010"):
        QueryBlocks(first).read([(wrong, 1)])
