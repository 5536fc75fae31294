"""Shards as actors on a real Ray: the answers of local shards to the bit, deadlines, deaths and returns."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import ray
from helpers.command_line import call
from helpers.synthetic import SyntheticCorpora
from helpers.topic_corpus import HashEncoder, make_records, queries_of

from cocite.corpus.builder import build
from cocite.corpus.store import Corpus
from cocite.errors import InputError, IntegrityError
from cocite.pipeline.first_stage import FirstStage
from cocite.pipeline.options import Options
from cocite.retrieval.index.shard_layout import shard_folder
from cocite.retrieval.index.sharded_index import ShardedIndex
from cocite.retrieval.index.snapshot import IndexSnapshot
from cocite.retrieval.index.versions import VersionedFolder
from cocite.retrieval.remote_shards import ShardsUnavailableError
from cocite_jobs.cluster.connection import ray_connection
from cocite_jobs.cluster.resources import free_cores
from cocite_jobs.retrieval.ray_shards import RayShards, open_on_ray
from cocite_jobs.training.ray_actors import EventBuffer

pytestmark = pytest.mark.integration

VERSION = "000001"
WAIT_S = 300.0
ROUND_S = 20
"""Seconds for a shard that has stopped."""


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return build(make_records(80), tmp_path_factory.mktemp("corpus") / "store")


@pytest.fixture(scope="module")
def root(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index folder of three shards."""
    folder = tmp_path_factory.mktemp("sharded") / "index"
    ShardedIndex.create(corpus, folder, shards=3, encoders=[HashEncoder()])
    return folder


@pytest.fixture(scope="module", autouse=True)
def connection() -> Iterator[None]:
    with ray_connection("local"):
        yield


def first_stage(index: ShardedIndex) -> FirstStage:
    weights = {"hash": 1.0, "whole>text": 1.0, "whole>anchors": 0.5, "sentences": 2.0, "neighbours-50": 1.0}
    both = {"local": weights | {"near>anchors": 1.0, "near-sentences": 1.0}, "global": weights}
    return FirstStage(index, [HashEncoder()], weights=both)


def pid(shards: RayShards, number: int) -> int:
    """The process of a shard's actor."""
    found = ray.get(shards._actors[number].__ray_call__.remote(lambda _: os.getpid()))
    assert isinstance(found, int)
    return found


def test_the_answer_is_that_of_local_shards_to_the_bit(corpus: Corpus, root: Path) -> None:
    queries = queries_of(corpus, range(0, 60, 5))
    local = first_stage(ShardedIndex.open(root)).retrieve(queries, Options(depth=20))
    with RayShards.started(root, VERSION) as shards:
        index = ShardedIndex.open(root, shards=shards)
        remote = first_stage(index).retrieve(queries, Options(depth=20))
        rows = np.array([[0, 79, 40], [3, 3, 27]])
        np.testing.assert_array_equal(
            index.paper_vectors("hash")[rows], ShardedIndex.open(root).paper_vectors("hash")[rows]
        )
        assert index.paper_vectors("hash")[np.zeros(0, int)].shape == (0, 16)
    np.testing.assert_array_equal(remote.ranking.rows, local.ranking.rows)
    np.testing.assert_array_equal(remote.ranking.scores, local.ranking.scores)
    for name, values in local.signals.items():
        np.testing.assert_array_equal(remote.signals[name], values, err_msg=name)
    assert remote.missing_shards == ()


def test_actors_take_what_others_have_left(root: Path) -> None:
    cores = ray.cluster_resources()["CPU"]
    holder = ray.remote(EventBuffer).options(num_cpus=cores - 0.5).remote()
    try:
        until = time.monotonic() + WAIT_S
        while sum(free_cores()) > 0.5 and time.monotonic() < until:
            time.sleep(0.05)
        with RayShards.started(root, VERSION, start_s=60) as shards:
            assert len({pid(shards, number) for number in range(3)}) == 3
    finally:
        ray.kill(holder)


def test_a_dead_shard_is_named_and_comes_back(corpus: Corpus, root: Path) -> None:
    queries = queries_of(corpus, [3, 30, 90])
    with RayShards.started(root, VERSION, round_s=20, policy="partial") as shards:
        stage = first_stage(ShardedIndex.open(root, shards=shards))
        whole = stage.retrieve(queries, Options(depth=20))
        assert whole.missing_shards == ()
        killed = pid(shards, 1)
        os.kill(killed, signal.SIGKILL)
        until = time.monotonic() + WAIT_S
        answer = stage.retrieve(queries, Options(depth=20))
        while not answer.missing_shards and time.monotonic() < until:  # Ray may not have seen the death yet
            np.testing.assert_array_equal(answer.ranking.rows, whole.ranking.rows)
            answer = stage.retrieve(queries, Options(depth=20))
        assert answer.missing_shards == (1,)
        shards.policy = "fail"
        back = None
        while back is None and time.monotonic() < until:
            try:
                back = stage.retrieve(queries, Options(depth=20))
            except ShardsUnavailableError as error:
                assert str(error).startswith("shard 2 of 3 did not answer: ")  # noqa: PT017
                time.sleep(0.05)
        assert back is not None, "it did not come back"
        assert pid(shards, 1) != killed
        np.testing.assert_array_equal(back.ranking.rows, whole.ranking.rows)
        np.testing.assert_array_equal(back.ranking.scores, whole.ranking.scores)


def test_a_shard_that_is_too_slow_is_lost_until_it_answers(corpus: Corpus, root: Path) -> None:
    queries = queries_of(corpus, [3])
    with RayShards.started(root, VERSION, round_s=ROUND_S, policy="fail") as shards:
        stage = first_stage(ShardedIndex.open(root, shards=shards))
        stopped = pid(shards, 2)
        os.kill(stopped, signal.SIGSTOP)
        try:
            with pytest.raises(
                ShardsUnavailableError, match=f"^shard 3 of 3 did not answer: no reply within {ROUND_S} s"
            ):
                stage.retrieve(queries, Options(depth=20))
            shards.policy = "partial"
            begin = time.monotonic()
            assert stage.retrieve(queries, Options(depth=20)).missing_shards == (2,)
            assert time.monotonic() - begin < ROUND_S, "no deadline is waited for again"
        finally:
            os.kill(stopped, signal.SIGCONT)
        shards.wait(WAIT_S)
        assert stage.retrieve(queries, Options(depth=20)).missing_shards == ()


def test_a_damaged_shard_is_refused_by_its_file(root: Path, corpus: Corpus, tmp_path: Path) -> None:
    ShardedIndex.create(corpus, tmp_path / "index", shards=2)
    folder = shard_folder(VersionedFolder(tmp_path / "index").folder(VERSION), 1)
    damaged = folder / "years.npy"
    data = bytearray(damaged.read_bytes())
    data[-1] ^= 1
    damaged.write_bytes(data)
    with (
        pytest.raises(IntegrityError, match="0001/years.npy: damaged"),
        RayShards.started(tmp_path / "index", VERSION),
    ):
        pass


def test_an_index_without_shards_is_refused(corpus: Corpus, tmp_path: Path) -> None:
    IndexSnapshot.create(corpus, tmp_path / "index")
    with (
        pytest.raises(InputError, match="not divided into shards"),
        open_on_ray(tmp_path / "index"),
    ):
        pass


@pytest.mark.thorough
def test_rank_and_evaluate_on_ray_write_the_runs_that_one_process_writes(
    synthetic: SyntheticCorpora, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = synthetic(300, seed=1)
    index, queries = tmp_path / "index", tmp_path / "queries.jsonl"
    ShardedIndex.create(corpus, index, shards=3, before_split="test")
    lines = [{"id": q.id, "title": q.title, "context": q.context} for q in queries_of(corpus, [3, 30])]
    queries.write_text("".join(json.dumps(line) + "\n" for line in lines))
    rank = ("rank", "--queries", queries, "--index", index, "--k", 20)
    evaluate = ("evaluate", "pipeline", "--corpus", corpus.path, "--index", index, "--k", 20, "--no-track")
    for on in ("process", "ray"):
        assert call(capsys, *rank, "--to", tmp_path / f"{on}.trec", "--on", on)[0] == 0
        assert call(capsys, *evaluate, "--to", tmp_path / on, "--on", on)[0] == 0
    assert (tmp_path / "ray.trec").read_bytes() == (tmp_path / "process.trec").read_bytes()
    for name in ("bm25.trec", "first.trec", "qrels.trec"):
        assert (tmp_path / "ray" / name).read_bytes() == (tmp_path / "process" / name).read_bytes()


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("rank --queries q --to r --corpus c --pipeline bm25 --on ray", "give --index"),
        ("rank --queries q --to r --index i --address auto", "an address goes with --on ray"),
        ("evaluate pipeline --corpus c --on ray", "give --index"),
        ("evaluate pipeline --corpus c --address auto", "an address goes with --on ray"),
    ],
)
def test_what_does_not_go_with_ray_is_refused(
    command: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, error = call(capsys, *command.split())
    assert (code, sentence in error) == (2, True), error
