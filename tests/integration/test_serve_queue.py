"""The queues inside the replicas on a real Ray Serve: many clients at once, deadlines, refusals, clients that leave."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import psutil
import pytest
from helpers.endpoint import Running, replicas_of, serving
from helpers.served_cross_encoder import cross_encoder_folder

from cocite.corpus.starter import build_starter
from cocite.pipeline.options import Options
from cocite.pipeline.recommender import Recommender
from cocite.retrieval.index.snapshot import IndexSnapshot

pytestmark = pytest.mark.integration
CONTEXTS = [
    f"{topic} as was shown before [CIT]."
    for topic in (
        "Parsing",
        "Word vectors",
        "Translation",
        "Attention",
        "Summaries",
        "Tagging",
        "Dialogue",
        "Speech",
    )
]
MANY = 200
ROUNDING = 0.02
"""Of a score; those of two contexts' papers differ by ten times as much, and more."""
REQUEST_S = 60
WAIT_S = 600
"""Seconds within which Ray Serve has seen the queues and started a replica, usually 20; and for all else."""


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Chunks of one pair, so that a request of many takes a while; few may wait."""
    folder = tmp_path_factory.mktemp("queue")
    IndexSnapshot.create(build_starter(folder / "corpus"), folder / "index")
    options = ("--set", "reranker.chunk_tokens=64", "--set", "reranker.max_wait_s=1.0")
    options += ("--set", "reranker.max_replicas=2", "--set", "reranker.target_wait_s=0.2")
    with serving(
        cross_encoder_folder(folder),
        folder / "index",
        folder / "log.txt",
        *options,
        "--set",
        f"request_timeout_s={REQUEST_S}",
    ) as running:
        yield running


@pytest.fixture(scope="module")
def recommender(endpoint: Running) -> Recommender:
    return Recommender.load(endpoint.model, endpoint.index)


def ask(endpoint: Running, context: str, **request: Any) -> httpx.Response:
    body = {"context": context, "top_k": 15, "K": 300, **request}
    return httpx.post(f"{endpoint.url}/v1/recommend", json=body, timeout=120)


def ask_until_accepted(endpoint: Running, context: str, **request: Any) -> httpx.Response:
    """Ask as a client does that is told to try again, because a busy machine computes little in ``max_wait_s``."""
    deadline = time.monotonic() + WAIT_S
    while (answer := ask(endpoint, context, **request)).status_code == 429:
        assert time.monotonic() < deadline, answer.text
        time.sleep(int(answer.headers["retry-after"]))
    assert answer.status_code == 200, answer.text
    return answer


def assert_ranked_as_alone(
    answer: httpx.Response, recommender: Recommender, context: str, rerank: int
) -> None:
    """The best papers are those of ``recommender``, but for papers whose scores differ by rounding alone.

    How matrix products round depends on the machine and on how many pairs are scored together.
    """
    options = Options(top_k=300, depth=300, rerank=rerank)
    alone = {
        paper.id: paper.score for paper in recommender.recommend(recommender.query(context=context), options)
    }
    served = [paper["id"] for paper in answer.json()["papers"]]
    assert len(served) == len({*served}) == 15
    assert [alone[paper] for paper in served] == pytest.approx([*alone.values()][:15], abs=ROUNDING)


def test_clients_at_once_get_what_each_gets_alone(endpoint: Running, recommender: Recommender) -> None:
    with ThreadPoolExecutor(len(CONTEXTS)) as pool:
        answers = list(pool.map(lambda context: ask_until_accepted(endpoint, context, rerank=5), CONTEXTS))
    for context, answer in zip(CONTEXTS, answers, strict=True):
        assert answer.json()["reranked"] == {"read": 5, "of": 5}
        assert_ranked_as_alone(answer, recommender, context, 5)


def test_a_deadline_that_does_not_allow_all_has_fewer_read(
    endpoint: Running, recommender: Recommender
) -> None:
    begin = time.monotonic()
    answer = ask_until_accepted(endpoint, CONTEXTS[0], rerank=MANY)
    assert answer.json()["reranked"] == {"read": MANY, "of": MANY}
    # Between a deadline that allows nothing and one that allows all, wherever the machine's other work moves them.
    nothing, all_ = 0.0, 1000 * (time.monotonic() - begin)
    end, read = begin + WAIT_S, MANY
    while read == MANY:
        assert time.monotonic() < end, "no deadline allowed some and not all"
        if all_ - nothing < 5:
            nothing, all_ = 0.0, min(2 * all_, 1000 * REQUEST_S)
        middle = (nothing + all_) / 2
        answer = ask(endpoint, CONTEXTS[0], rerank=MANY, deadline_ms=max(1, round(middle)))
        if answer.status_code == 200:
            read, all_ = answer.json()["reranked"]["read"], middle
        else:
            assert answer.status_code in (429, 504), answer.text
            nothing = middle
    assert_ranked_as_alone(answer, recommender, CONTEXTS[0], read)


def test_what_would_wait_too_long_is_refused_at_once_and_told_when(endpoint: Running) -> None:
    def timed(context: str) -> tuple[httpx.Response, float]:
        begin = time.monotonic()
        return ask(endpoint, context, rerank=MANY), time.monotonic() - begin

    with ThreadPoolExecutor(48) as pool:
        answers = list(pool.map(timed, 6 * CONTEXTS))
    accepted = [seconds for answer, seconds in answers if answer.status_code == 200]
    refused = [(answer, seconds) for answer, seconds in answers if answer.status_code == 429]
    assert len(accepted) + len(refused) == len(answers)
    assert accepted
    assert refused
    for answer, _ in refused:
        after = int(answer.headers["retry-after"])
        assert after >= 1
        assert answer.json()["error"].startswith(
            f"Too many requests are waiting; try again in {after} second"
        )
    assert min(seconds for _, seconds in refused) < max(accepted)


def test_after_clients_have_left_nothing_is_computed_for_them(endpoint: Running) -> None:
    def computed() -> dict[int, float]:
        """Seconds for which each process of the reranker has computed: they do not depend on other work."""
        found = {}
        for process in replicas_of(endpoint, "Reranker"):
            with contextlib.suppress(psutil.Error):
                found[process.pid] = sum(process.cpu_times()[:2])
        return found

    def since(before: dict[int, float]) -> float:
        return sum(seconds - before[pid] for pid, seconds in computed().items() if pid in before)

    ask_until_accepted(endpoint, CONTEXTS[0], rerank=5)
    before = computed()
    ask_until_accepted(endpoint, CONTEXTS[0], rerank=MANY)
    large = since(before)

    def leave(context: str) -> None:
        with contextlib.suppress(httpx.TimeoutException):
            httpx.post(
                f"{endpoint.url}/v1/recommend",
                json={"context": context, "K": 300, "rerank": MANY},
                timeout=httpx.Timeout(30, read=0.05),
            )

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(leave, 8 * CONTEXTS))
    ask_until_accepted(endpoint, CONTEXTS[0], rerank=MANY)
    assert since(before) < 32 * large, "64 had left"


def test_a_replica_is_added_while_the_queued_work_would_take_too_long(endpoint: Running) -> None:
    def rerankers() -> int:
        return len(replicas_of(endpoint, "Reranker"))

    end = time.monotonic() + WAIT_S
    with ThreadPoolExecutor(len(CONTEXTS)) as pool:
        while rerankers() < 2 and time.monotonic() < end:
            list(pool.map(lambda context: ask(endpoint, context, rerank=MANY), CONTEXTS))
    assert rerankers() == 2
