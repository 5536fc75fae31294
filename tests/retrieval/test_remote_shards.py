"""Shards in other processes, as threads of this one: what a coordinator does when some do not answer."""

from __future__ import annotations

import copy
import dataclasses
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from helpers.topic_corpus import HashEncoder, queries_of

from cocite.corpus.store import Corpus
from cocite.pipeline.first_stage import FirstStage
from cocite.pipeline.options import Options
from cocite.retrieval.index.sharded_index import ShardedIndex
from cocite.retrieval.remote_shards import (
    NoReplyError,
    RemoteShards,
    ShardFailedError,
    ShardsUnavailableError,
)

COUNT = 3


class ThreadShards(RemoteShards):
    """Each shard answers in a thread of its own; it can be killed, held up, and have a damaged disk.

    Replies of shards that are not ``late`` arrive in time, however busy the machine is.
    """

    def __init__(self, index: ShardedIndex, **settings: Any) -> None:
        shards = index.local_shards
        super().__init__([shard.first for shard in shards], **settings)
        self.shards = shards
        self.threads = [ThreadPoolExecutor(1) for _ in shards]
        self.dead: set[int] = set()
        self.damaged: set[int] = set()
        self.late: set[int] = set()
        self.asked: list[tuple[int, str]] = []
        self.calls: dict[Future[Any], int] = {}

    def _send(self, number: int, method: str, *arguments: Any) -> Future[Any]:
        self.asked.append((number, method))
        if number in self.dead:
            raise NoReplyError("its process ended")
        if method == "ping":
            call = self.threads[number].submit(lambda: None)
        elif number in self.damaged:
            call = self.threads[number].submit(unreadable)
        else:
            call = self.threads[number].submit(getattr(self.shards[number], method), *arguments)
        self.calls[call] = number
        return call

    def _receive(self, call: Future[Any], seconds: float) -> Any:
        try:
            return call.result(seconds if self.calls[call] in self.late else 60)
        except OSError as error:
            if isinstance(error, TimeoutError):
                raise
            raise ShardFailedError(error) from error

    def _cancel(self, call: Future[Any]) -> None:
        call.cancel()


def unreadable() -> None:
    raise OSError("input/output error")


@pytest.fixture
def index(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> ShardedIndex:
    root = tmp_path_factory.mktemp("remote") / "index"
    return ShardedIndex.create(corpus, root, shards=COUNT, encoders=[HashEncoder()])


def over(index: ShardedIndex, shards: RemoteShards) -> FirstStage:
    remote = ShardedIndex.open(index.path.parent.parent, shards=shards)
    return FirstStage(remote, [HashEncoder()])


def test_a_partial_answer_names_what_is_missing_and_is_whole_again_afterwards(
    corpus: Corpus, index: ShardedIndex, caplog: pytest.LogCaptureFixture
) -> None:
    queries = queries_of(corpus, [3, 30])
    shards = ThreadShards(index, round_s=30, policy="partial")
    stage = over(index, shards)
    whole = stage.retrieve(queries, Options(depth=10))
    assert whole.missing_shards == ()
    shards.dead = {1}
    assert stage.retrieve(queries, Options(depth=10)).missing_shards == (1,)
    shards.dead = {0, 1}
    assert stage.retrieve(queries, Options(depth=10)).missing_shards == (0, 1)
    shards.dead = set()
    shards.wait(30)
    back = stage.retrieve(queries, Options(depth=10))
    assert back.missing_shards == ()
    np.testing.assert_array_equal(back.ranking.scores, whole.ranking.scores)
    assert [record.getMessage() for record in caplog.records] == [
        "shard 2 of 3 did not answer: its process ended; searches go on without it",
        "shard 1 of 3 did not answer: its process ended; searches go on without it",
        "shard 1 of 3 answers again",
        "shard 2 of 3 answers again",
    ]


def test_a_shard_that_fails_is_missing_from_that_search_alone(
    corpus: Corpus, index: ShardedIndex, caplog: pytest.LogCaptureFixture
) -> None:
    queries = queries_of(corpus, [3, 30])
    shards = ThreadShards(index, round_s=30, policy="partial")
    stage = over(index, shards)
    shards.damaged = {1}
    assert stage.retrieve(queries, Options(depth=10)).missing_shards == (1,)
    assert {record.getMessage() for record in caplog.records} == {
        "shard 2 of 3: it failed: input/output error; this search goes on without it"
    }
    shards.damaged, shards.dead = {0}, {1, 2}
    with pytest.raises(ShardsUnavailableError, match="^shard 2 of 3 .*; shard 3 of 3 did not answer"):
        stage.retrieve(queries, Options(depth=10))
    shards.damaged, shards.dead = set(), set()
    shards.wait(30)
    assert stage.retrieve(queries, Options(depth=10)).missing_shards == ()
    shards.damaged = {0, 1, 2}
    with pytest.raises(OSError, match="input/output error"):
        stage.retrieve(queries, Options(depth=10))


def test_by_the_policy_fail_the_error_of_a_shard_is_the_searchs(corpus: Corpus, index: ShardedIndex) -> None:
    shards = ThreadShards(index, round_s=30, policy="fail")
    shards.damaged = {1}
    with pytest.raises(OSError, match="input/output error"):
        over(index, shards).retrieve(queries_of(corpus, [3]), Options(depth=10))
    shards.damaged = set()
    assert over(index, shards).retrieve(queries_of(corpus, [3]), Options(depth=10)).missing_shards == ()


def test_a_batch_of_both_kinds_names_what_either_lacks(corpus: Corpus, index: ShardedIndex) -> None:
    local, other = queries_of(corpus, [3, 30])
    shards = ThreadShards(index, round_s=30, policy="partial")
    stage = over(index, shards)
    shards.dead = {2}
    mixed = [local, dataclasses.replace(other, context="")]
    assert stage.retrieve(mixed, Options(depth=10)).missing_shards == (2,)


def test_an_answer_of_no_shard_is_an_error_under_any_policy(corpus: Corpus, index: ShardedIndex) -> None:
    shards = ThreadShards(index, round_s=30, policy="partial")
    shards.dead = {0, 1, 2}
    with pytest.raises(
        ShardsUnavailableError, match="shard 1 of 3 .*; shard 2 of 3 .*; shard 3 of 3 did not"
    ):
        over(index, shards).retrieve(queries_of(corpus, [3]), Options(depth=10))


def test_the_policy_fail_names_the_shard_and_asks_nobody_while_it_is_lost(
    corpus: Corpus, index: ShardedIndex
) -> None:
    shards = ThreadShards(index, round_s=30, policy="fail")
    shards.dead = {2}
    stage = over(index, shards)
    for _ in range(2):
        with pytest.raises(ShardsUnavailableError, match="^shard 3 of 3 did not answer: its process ended$"):
            stage.retrieve(queries_of(corpus, [3]), Options(depth=10))
    assert shards.asked.count((0, "nearest")) == 1


def test_a_shard_past_its_deadline_is_not_waited_for_again_until_it_has_answered(
    corpus: Corpus, index: ShardedIndex
) -> None:
    shards = ThreadShards(index, round_s=30, policy="partial")
    stage, queries = over(index, shards), queries_of(corpus, [3])
    assert (
        stage.retrieve(queries, Options(depth=10)).missing_shards == ()
    )  # nothing is loaded for the next one
    shards.asked.clear()
    shards._round_s, shards.late = 0.5, {1}
    held = threading.Event()
    shards.threads[1].submit(held.wait)
    assert stage.retrieve(queries, Options(depth=10)).missing_shards == (1,)
    with pytest.raises(
        ShardsUnavailableError, match=r"^shard 2 of 3 did not answer: no reply within 0\.5 s$"
    ):
        shards.paper_vectors("hash", np.arange(len(index)))
    assert shards.asked.count((1, "nearest")) == 1
    assert shards.asked.count((1, "score")) == 0, "it was lost in the first round"
    assert shards.asked.count((1, "ping")) == 1, "one ping waits behind what holds the shard up"
    held.set()
    shards.wait(30)
    shards._round_s, shards.late = 30, set()
    assert stage.retrieve(queries, Options(depth=10)).missing_shards == ()


def test_a_shard_that_uses_the_deadline_up_costs_no_other_ones_reply(
    corpus: Corpus, index: ShardedIndex
) -> None:
    class LateShards(ThreadShards):
        """Takes a reply that has arrived in some time, and none in no time, as Ray Serve does."""

        def _receive(self, call: Future[Any], seconds: float) -> Any:
            if seconds <= 0:
                raise TimeoutError
            return super()._receive(call, seconds)

    shards = LateShards(index, round_s=0.5, policy="partial")
    shards.late = {0}
    held = threading.Event()
    shards.threads[0].submit(held.wait)
    try:
        assert over(index, shards).retrieve(queries_of(corpus, [3]), Options(depth=10)).missing_shards == (0,)
    finally:
        held.set()


def test_waiting_ends_with_its_time(index: ShardedIndex) -> None:
    shards = ThreadShards(index, round_s=30, policy="partial")
    shards.dead = {0}
    begin = time.monotonic()
    shards.wait(0.1)
    assert time.monotonic() - begin >= 0.1
    assert not shards._is_back(0, 0)


def test_vectors_are_those_of_the_shards(index: ShardedIndex) -> None:
    shards = ThreadShards(index, round_s=30, policy="fail")
    rows = np.array([[79, 0, 40], [3, 3, 27]])
    np.testing.assert_array_equal(
        shards.paper_vectors("hash", rows), index.shards.paper_vectors("hash", rows)
    )
    assert shards.paper_vectors("hash", np.zeros(0, int)).shape == (0, 16)


def test_the_error_passes_from_process_to_process() -> None:
    error = ShardsUnavailableError.of({2: "its process ended", 0: "no reply within 5 s"}, 8)
    again = copy.copy(error)  # by the way that Ray sends it
    assert str(again) == str(error)
    assert str(error).startswith("shard 1 of 8 did not answer: no reply within 5 s; shard 3 of 8 ")
