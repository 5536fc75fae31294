"""Replicas and the HTTP proxy of a real endpoint are killed or stopped while clients ask: no request is lost to a kill.

`benchmarks/serve_deaths.py` measures how long each takes, with more clients and twenty kills of a kind.
"""

from __future__ import annotations

import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import psutil
import pytest
from helpers.endpoint import Running, processes_of, replicas_of, serving
from helpers.served_cross_encoder import cross_encoder_folder

pytestmark = pytest.mark.integration

CONTEXT = "We measure the quality of translations with BLEU [CIT] on a held-out test set."
STAGES = ("Retriever", "Reranker", "Gateway")
CLIENTS = 4
REQUEST_S = 30
"""What a stopped replica has taken in is held for so long."""
WAIT_S = 300
"""Seconds on a machine that does other things too; usually 15."""


@pytest.fixture(scope="module")
def replicated(starter_index: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Two replicas of each stage."""
    folder = tmp_path_factory.mktemp("replicated")
    settings = {f"{stage.lower()}.replicas": 2 for stage in STAGES}
    settings |= {"request_timeout_s": REQUEST_S, "reranker.max_wait_s": REQUEST_S}
    options = [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
    with serving(cross_encoder_folder(folder), starter_index, folder / "log.txt", *options) as running:
        yield running


class Answers:
    """How many answers of each status clients got; 0: the connection broke."""

    def __init__(self) -> None:
        self.statuses: Counter[int] = Counter()

    @property
    def others(self) -> int:
        """How many were no 200."""
        return self.statuses.total() - self.statuses[200]

    def wait_for(self, more: int) -> None:
        """Wait until so many more requests were answered with 200."""
        enough = self.statuses[200] + more
        wait_until(lambda: self.statuses[200] >= enough)


def wait_until(done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not done():
        assert time.monotonic() < deadline, f"not in {WAIT_S} s"
        time.sleep(0.1)


@contextmanager
def asking(running: Running) -> Iterator[Answers]:
    """Clients that ask one request after the other until the block ends."""
    answers, ended, lock = Answers(), threading.Event(), threading.Lock()
    body = {"context": CONTEXT, "top_k": 1, "rerank": 2}

    def client() -> None:
        while not ended.is_set():
            status = 0
            with suppress(httpx.TransportError):
                status = httpx.post(f"{running.url}/v1/recommend", json=body, timeout=WAIT_S).status_code
            with lock:
                answers.statuses[status] += 1

    with ThreadPoolExecutor(CLIENTS) as pool:
        clients = [pool.submit(client) for _ in range(CLIENTS)]
        try:
            answers.wait_for(CLIENTS)
            yield answers
        finally:
            ended.set()
        for one in clients:
            one.result()


def loaded(running: Running, stage: str) -> list[psutil.Process]:
    """The replicas of a stage that have loaded what they serve: until then their title says so."""
    found = []
    for replica in replicas_of(running, stage):
        with suppress(psutil.Error):
            title = " ".join(replica.cmdline())
            if "initialize" not in title and replica.status() != psutil.STATUS_ZOMBIE:
                found.append(replica)
    return found


@pytest.mark.parametrize("stage", STAGES)
def test_no_request_is_lost_when_a_replica_is_killed(replicated: Running, stage: str) -> None:
    wait_until(lambda: len(loaded(replicated, stage)) == 2)
    with asking(replicated) as answers:
        victim, other = loaded(replicated, stage)
        victim.kill()
        wait_until(
            lambda: {each.pid for each in loaded(replicated, stage)} - {victim.pid, other.pid} != set()
        )
        answers.wait_for(2 * CLIENTS)
    assert set(answers.statuses) == {200}


@pytest.mark.parametrize("stage", STAGES)
def test_a_replica_that_is_stopped_is_replaced_and_costs_a_gateways_own_requests_alone(
    replicated: Running, stage: str
) -> None:
    wait_until(lambda: len(loaded(replicated, stage)) == 2)
    with asking(replicated) as answers:
        victim, other = loaded(replicated, stage)
        victim.send_signal(signal.SIGSTOP)  # Ray ends it, and a process that is stopped can be killed
        wait_until(
            lambda: {each.pid for each in loaded(replicated, stage)} - {victim.pid, other.pid} != set()
        )
        answers.wait_for(2 * CLIENTS)
        # What a stage had taken in is asked again; an answer of a gateway may have begun, so the proxy waits for it.
        assert answers.others <= (CLIENTS if stage == "Gateway" else 0), answers.statuses
        before = answers.others
        answers.wait_for(2 * CLIENTS)
        assert answers.others == before, "it was noticed"
    with suppress(psutil.NoSuchProcess):
        victim.kill()


def test_a_proxy_that_is_killed_comes_back(replicated: Running) -> None:
    [proxy] = processes_of(replicated, "ProxyActor")
    with asking(replicated) as answers:
        proxy.kill()
        proxy.wait(WAIT_S)
        answers.wait_for(2 * CLIENTS)
    assert set(answers.statuses) <= {0, 200}
