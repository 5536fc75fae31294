"""A real endpoint whose only reranker is full: what the HTTP proxy refuses by itself, and clients that leave then.

The last test takes the endpoint's Ray away.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import psutil
import pytest
from helpers.endpoint import STOP_S, Running, processes_of, serving
from helpers.served_cross_encoder import cross_encoder_folder

from cocite.corpus.starter import build_starter
from cocite.retrieval.index.snapshot import IndexSnapshot
from cocite_serve.http.full_notes import FULL_HEADER

pytestmark = pytest.mark.integration
CLIENTS = 32
MANY = 200
SOON_S = 180
"""Seconds on a machine that does other things too; usually two."""


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Chunks of one pair, so that a request of many takes a while; none may wait as long."""
    folder = tmp_path_factory.mktemp("full")
    IndexSnapshot.create(build_starter(folder / "corpus"), folder / "index")
    options = ("reranker.chunk_tokens=64", "reranker.max_wait_s=0.2", "request_timeout_s=60")
    set_options = [part for option in options for part in ("--set", option)]
    set_options += ["--log-dir", str(folder / "logs")]
    with serving(cross_encoder_folder(folder), folder / "index", folder / "log.txt", *set_options) as running:
        yield running


def ask(endpoint: Running, rerank: int = MANY, seconds: float = 120) -> httpx.Response:
    body = {"context": "Parsing as was shown before [CIT].", "top_k": 5, "rerank": rerank}
    return httpx.post(f"{endpoint.url}/v1/recommend", json=body, timeout=seconds)


def refused_by_gateway(logs: Path) -> int:
    """429s of the gateway: the proxy's have no line."""
    lines = [line for file in logs.glob("gateway-*.jsonl") for line in file.read_text().splitlines()]
    return sum(json.loads(line)["status"] == 429 for line in lines)


def test_while_the_reranker_is_full_the_proxy_refuses_what_it_would_refuse(endpoint: Running) -> None:
    logs, refused, end = endpoint.index.parent / "logs", 0, time.monotonic() + SOON_S
    with ThreadPoolExecutor(CLIENTS) as pool:
        while refused <= refused_by_gateway(logs) and time.monotonic() < end:
            answers = list(pool.map(lambda _: ask(endpoint), range(4 * CLIENTS)))
            assert {answer.status_code for answer in answers} == {200, 429}
            for answer in answers:
                assert FULL_HEADER not in answer.headers
                if answer.status_code == 429:
                    refused += 1
                    assert int(answer.headers["retry-after"]) >= 1
                    assert answer.json()["reason"] == "overloaded"
    assert refused > refused_by_gateway(logs) > 0
    assert ask(endpoint, rerank=0).status_code == 200, "another size is not refused"


def test_after_many_clients_have_left_the_next_is_answered(endpoint: Running) -> None:
    def leave(_: int) -> None:
        with contextlib.suppress(httpx.TimeoutException):
            ask(endpoint, seconds=0.3)

    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(leave, range(8 * CLIENTS)))
    end, status = time.monotonic() + SOON_S, 0
    while status != 200 and time.monotonic() < end:
        status = ask(endpoint, rerank=5).status_code
    assert status == 200


def test_an_endpoint_that_loses_its_raylet_ends_with_a_sentence_and_leaves_nothing(endpoint: Running) -> None:
    """Its proxy lives on and answers nothing: who supervises the endpoint is to start it anew."""
    endpoint.code = 1
    started = psutil.Process(endpoint.process.pid).children(recursive=True)
    [raylet] = processes_of(endpoint, "raylet/raylet ")
    raylet.kill()
    assert endpoint.process.wait(STOP_S) == 1
    lines = (endpoint.index.parent / "log.txt").read_text().splitlines()
    ours = [line for line in lines if line.startswith("cocite: ")]  # Ray's own may come after them
    assert ours[-1].startswith(
        "cocite: Ray, which runs the endpoint, has lost its raylet (start the endpoint again;"
    )
    _, left = psutil.wait_procs(started, timeout=60)
    assert not left
