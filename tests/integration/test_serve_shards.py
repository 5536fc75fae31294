"""An endpoint over an index in four shards: the ranking of the library, and a shard that dies and comes back.

The model has two encoders, whose vectors lie in the shards, and a fusion that was trained on their signals.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from helpers.endpoint import Running, replica_of, replicas_of, serving
from helpers.untrained_encoders import untrained_encoders

from cocite.corpus.starter import build_starter
from cocite.pipeline.components import load_encoders
from cocite.pipeline.options import Options
from cocite.pipeline.recommender import Recommender
from cocite.retrieval.index.sharded_index import ShardedIndex
from cocite.systems.learned_fusion.recipe import FusionRecipe
from cocite_jobs.training.train import train

pytestmark = pytest.mark.integration

COUNT = 4
WHOLE = {"answered": COUNT, "of": COUNT, "missing": []}
WAIT_S = 600.0
FUSION = {
    "queries": 60,
    "local_depth": 60,
    "global_depth": 60,
    "keep": "always",
    "trees": {"trees": 10, "leaves": 7, "threads": 1},
}
TITLES = (
    "Neural machine translation with attention",
    "Dense vectors of words learned from their neighbours",
    "Recommending citations for scientific papers",
)
CONTEXT = "We measure the quality of translations with BLEU [CIT] on a held-out test set."


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("shards")
    corpus = build_starter(folder / "corpus")
    model = untrained_encoders(corpus, folder / "model", hatten=True)
    train(FusionRecipe.parse(FUSION), corpus, model)
    ShardedIndex.create(corpus, folder / "index", shards=COUNT, encoders=load_encoders(model))
    options = ("--shard-policy", "partial", "--watch", "1", "--set", "shards.num_cpus=0.1")
    options += ("--set", "rollout.canary_s=1")
    # No answer depends on how busy the machine is.
    options += ("--set", "shards.round_s=60", "--set", "request_timeout_s=150")
    with serving(model, folder / "index", folder / "log.txt", *options) as running:
        yield running


@pytest.fixture(scope="module")
def client(running: Running) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=running.url, timeout=180) as client:
        yield client


def replica(running: Running, shard: int) -> int | None:
    """The process of the only replica of a shard; None while there is none."""
    return replica_of(running, f"Shard-{shard}-of-{COUNT}")


def papers(answer: httpx.Response) -> list[tuple[str, float]]:
    assert answer.status_code == 200, answer.text
    return [(paper["id"], paper["score"]) for paper in answer.json()["papers"]]


@pytest.mark.parametrize("request_", [{"context": CONTEXT}, *({"title": title} for title in TITLES)])
def test_ranks_as_the_library_does(running: Running, client: httpx.Client, request_: dict[str, str]) -> None:
    recommender = Recommender.load(running.model, running.index)
    assert recommender.second.fusions.keys() == {"local", "global"}
    expected = recommender.recommend(recommender.query(**request_), Options(top_k=15, depth=60))
    answer = client.post("/v1/recommend", json={**request_, "top_k": 15, "depth": 60})
    assert papers(answer) == [(paper.id, paper.score) for paper in expected]
    assert answer.json()["shards"] == WHOLE


def test_no_answer_is_silently_partial_while_a_shard_is_dead(running: Running, client: httpx.Client) -> None:
    def ask(title: str) -> httpx.Response:
        return client.post("/v1/recommend", json={"title": title, "top_k": 10})

    expected = {title: papers(ask(title)) for title in TITLES}
    killed = replica(running, 2)
    assert killed is not None

    def load(number: int) -> None:
        until, back = time.monotonic() + WAIT_S, 0
        while time.monotonic() < until and back < 5:
            title = TITLES[number % len(TITLES)]
            answer = ask(title)
            if answer.status_code == 503:
                assert "shard 2 of 4" in answer.json()["error"].lower(), answer.text
                continue
            found, shards = papers(answer), answer.json()["shards"]
            if shards == WHOLE:
                assert found == expected[title], "a whole answer is the one before"
                back += replica(running, 2) not in (None, killed)
            else:
                assert shards == {"answered": COUNT - 1, "of": COUNT, "missing": [2]}
        assert back == 5, "it is whole again"

    with ThreadPoolExecutor(2) as pool:
        threads = [pool.submit(load, number) for number in range(2)]
        time.sleep(1)
        os.kill(killed, signal.SIGKILL)
        for thread in threads:
            thread.result()
    assert replica(running, 2) not in (None, killed)


def test_a_stopped_shard_is_noticed_and_replaced(running: Running, client: httpx.Client) -> None:
    stopped = replica(running, 3)
    assert stopped is not None
    until = time.monotonic() + WAIT_S

    def replicas() -> set[int]:
        return {process.pid for process in replicas_of(running, f"Shard-3-of-{COUNT}")}

    os.kill(stopped, signal.SIGSTOP)  # its process stays: it cannot end itself
    try:
        while not (others := replicas() - {stopped}) and time.monotonic() < until:
            time.sleep(0.2)
        assert others, "another one is started"
        shards = None
        while shards != WHOLE and time.monotonic() < until:
            answer = client.post("/v1/recommend", json={"title": TITLES[0], "top_k": 10})
            assert answer.status_code == 200, answer.text
            shards = answer.json()["shards"]
        assert shards == WHOLE
    finally:
        os.kill(stopped, signal.SIGCONT)


@pytest.mark.thorough
def test_another_version_of_fewer_shards_is_switched_to_without_losing_a_request(
    running: Running, client: httpx.Client, tmp_path: Path
) -> None:
    before = client.get("/v1/version").json()["index_version"]
    corpus = build_starter(tmp_path / "corpus")
    assert running.model is not None
    ShardedIndex.create(corpus, running.index, shards=COUNT // 2, encoders=load_encoders(running.model))
    versions: set[tuple[str, int]] = set()
    until = time.monotonic() + WAIT_S
    while time.monotonic() < until and len(versions) < 2:
        answer = client.post("/v1/recommend", json={"title": TITLES[0], "top_k": 5})
        assert answer.status_code == 200, answer.text
        shards = answer.json()["shards"]
        assert shards["missing"] == []
        versions.add((answer.json()["index_version"], shards["of"]))
    assert versions == {(before, COUNT), (f"{int(before) + 1:06d}", COUNT // 2)}
