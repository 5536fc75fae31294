"""`cocite serve --address` on a Ray cluster that goes on when the endpoint ends: what clients get then."""

from __future__ import annotations

import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from helpers.endpoint import STOP_S, serving
from helpers.ray_head import head

from cocite.corpus.starter import build_starter
from cocite.retrieval.index.snapshot import IndexSnapshot
from cocite_serve.endpoint import ENVIRONMENT

pytestmark = pytest.mark.integration
CLIENTS = 16
TIMEOUT_S = 60
"""Seconds that the endpoint may take for a request: a busy machine needs some, and one that waits needs all."""
BODY = {"title": "Neural machine translation", "top_k": 3, "evidence": False}


def test_an_endpoint_that_ends_on_a_cluster_lets_nobody_wait(tmp_path: Path) -> None:
    IndexSnapshot.create(build_starter(tmp_path / "corpus"), tmp_path / "index")
    seen: list[httpx.Response] = []
    ended, begun = threading.Event(), threading.Barrier(CLIENTS + 1)

    def client() -> None:
        seen.append(httpx.post(f"{running.url}/v1/recommend", json=BODY, timeout=2 * TIMEOUT_S))
        begun.wait(STOP_S)
        while not ended.is_set():
            # Each on a connection of its own. A request that nobody answers is a 504.
            seen.append(httpx.post(f"{running.url}/v1/recommend", json=BODY, timeout=2 * TIMEOUT_S))

    # The cluster's own environment has what its proxies and replicas need, as infra/kubernetes gives it.
    with head(tmp_path, cpus=4, more=ENVIRONMENT) as cluster:
        token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": cluster.environment["RAY_AUTH_TOKEN_PATH"]}
        options = ("--address", cluster.address, "--log-dir", str(tmp_path / "logs"))
        options += ("--set", f"request_timeout_s={TIMEOUT_S}")
        with (
            serving(None, tmp_path / "index", tmp_path / "log", *options, environment=token) as running,
            ThreadPoolExecutor(CLIENTS) as pool,
        ):
            clients = [pool.submit(client) for _ in range(CLIENTS)]
            try:
                begun.wait(STOP_S)
                running.process.send_signal(signal.SIGTERM)
                running.process.wait(STOP_S)
            finally:
                ended.set()
            for each in clients:
                each.result()
            seen.append(httpx.post(f"{running.url}/v1/recommend", json=BODY, timeout=2 * TIMEOUT_S))
    assert {answer.status_code for answer in seen} == {200, 503}
    assert seen[-1].status_code == 503, "the cluster's proxy goes on"
    for answer in seen:
        if answer.status_code == 503:
            assert answer.headers["retry-after"] == "1"
            assert answer.json()["reason"] == "not_ready"
