"""Ray Serve's proxy with the middleware of cocite: ids, slow bodies, a gateway that dies, and an end in order."""

from __future__ import annotations

import json
import re
import select
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest
from helpers.endpoint import Running, replicas_of, serving

pytestmark = pytest.mark.integration

CONTEXT = "We measure the quality of translations with BLEU [CIT] on a held-out test set."
WORDS = "zymurgical quokkas"
SLOW = 300
"""Clients that never send the rest of their body."""
BODY_S = 30
HEAD_S = 20
GATEWAYS = 3
"""One is left when two are killed, however long it takes until others have come in their place."""
WAIT_S = 600
ID = re.compile(rb"(?i)x-request-id: (\S+)")


@pytest.fixture(scope="module")
def fronted(starter_index: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("fronted")
    options = ("--log-dir", str(folder / "logs"), "--set", f"limits.body_s={BODY_S}")
    options += ("--set", f"limits.head_s={HEAD_S}", "--set", f"gateway.replicas={GATEWAYS}")
    with serving(None, starter_index, folder / "log.txt", *options) as running:
        running.log_dir = folder / "logs"  # type: ignore[attr-defined]
        yield running
    text = "".join(path.read_text() for path in (folder / "logs").glob("*.jsonl*"))
    assert not any(word in text for word in WORDS.split()), (
        "the log outlives the endpoint, and no draft is in it"
    )


def ask(running: Running, **more: object) -> httpx.Response:
    return httpx.post(f"{running.url}/v1/recommend", json={"context": CONTEXT, **more}, timeout=120)


def lines(running: Running, name: str) -> list[dict[str, object]]:
    """The whole lines that processes of a name have written into the log."""
    return [
        json.loads(line)
        for path in running.log_dir.glob(f"{name}-*.jsonl")  # type: ignore[attr-defined]
        for line in path.read_text().splitlines(keepends=True)
        if line.endswith("\n")
    ]


def until(true: Callable[[], object]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not true() and time.monotonic() < deadline:
        time.sleep(0.1)


def test_an_id_comes_back_once_and_is_in_the_log(fronted: Running) -> None:
    headers = {"X-Request-ID": "a-clients/id-1"}
    answer = httpx.post(f"{fronted.url}/v1/recommend", json={"title": WORDS}, headers=headers, timeout=120)
    assert answer.headers.get_list("x-request-id") == ["a-clients/id-1"]
    assert answer.json()["request_id"] == "a-clients/id-1"

    def logged() -> list[dict[str, object]]:
        return [line for line in lines(fronted, "gateway") if line["request_id"] == "a-clients/id-1"]

    until(logged)  # the line is written when the answer has been sent
    [line] = logged()
    assert (line["path"], line["status"], line["index_version"]) == ("/v1/recommend", 200, "000001")
    assert line["ms"] >= line["retrieve_ms"] > 0


def test_an_id_that_is_no_text_is_replaced(fronted: Running) -> None:
    answer = httpx.get(f"{fronted.url}/v1/version", headers={"X-Request-ID": b"\xff\xfe"}, timeout=120)
    assert answer.status_code == 200
    assert len(answer.headers["x-request-id"]) == 36


@contextmanager
def slow_clients(running: Running, sent: bytes) -> Iterator[list[socket.socket]]:
    """Clients that have sent the beginning of a request, and send no more while the block runs."""
    host, port = running.url.removeprefix("http://").split(":")
    with ExitStack() as stack:
        clients = [
            stack.enter_context(socket.create_connection((host, int(port)), timeout=240)) for _ in range(SLOW)
        ]
        for client in clients:
            client.sendall(sent)
        yield clients


def test_slow_bodies_are_ended_and_delay_nobody(fronted: Running) -> None:
    begin = time.monotonic()
    head = b"POST /v1/recommend HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"
    with slow_clients(fronted, head) as clients:
        assert [ask(fronted, top_k=1).status_code for _ in range(3)] == [200] * 3
        ended, _, _ = select.select(clients, [], [], 0)
        assert len(ended) < SLOW / 2, "the others were asked while the slow ones waited"
        answers = [client.recv(65536) for client in clients]
        assert time.monotonic() - begin >= BODY_S - 1
    assert {answer.split(b"\r\n")[0] for answer in answers} == {b"HTTP/1.1 408 Request Timeout"}
    ids = {found[1].decode() for answer in answers if (found := ID.search(answer)) is not None}
    assert len(ids) == SLOW
    logged = {line["request_id"]: line for line in lines(fronted, "proxy")}
    assert ids <= logged.keys()
    slow = {(logged[id]["status"], logged[id]["reason"], logged[id]["path"]) for id in ids}
    assert slow == {(408, "body_too_slow", "/v1/recommend")}
    assert all(logged[id]["ms"] >= 1000 * (BODY_S - 1) for id in ids)  # type: ignore[operator]


def test_heads_that_do_not_end_are_ended(fronted: Running) -> None:
    begin = time.monotonic()
    head = b"POST /v1/recommend HTTP/1.1\r\nHost: x\r\nX-Never: "
    with slow_clients(fronted, head) as clients:
        assert ask(fronted, top_k=1).status_code == 200
        answers = [client.recv(65536) for client in clients]
        assert time.monotonic() - begin >= HEAD_S - 1
    assert {answer.split(b"\r\n")[0] for answer in answers} == {b"HTTP/1.1 408 Request Timeout"}
    assert all(b'"reason":"head_too_slow"' in answer for answer in answers)


def test_no_request_is_lost_when_a_gateways_process_is_killed(fronted: Running) -> None:
    gateways = replicas_of(fronted, "cocite:Gateway")
    assert len(gateways) == GATEWAYS
    ended = threading.Event()
    statuses: list[int] = []

    def client() -> None:
        while not ended.is_set():
            statuses.append(ask(fronted, top_k=1).status_code)

    def answered(more: int) -> None:
        enough, deadline = len(statuses) + more, time.monotonic() + WAIT_S
        while len(statuses) < enough and time.monotonic() < deadline:
            time.sleep(0.1)
        assert len(statuses) >= enough

    with ThreadPoolExecutor(4) as pool:
        clients = [pool.submit(client) for _ in range(4)]
        try:
            for gateway in gateways[:2]:
                answered(4)
                gateway.kill()
                time.sleep(4)  # the requests that come until Ray Serve has noticed
                answered(10)
        finally:
            ended.set()
        for one in clients:
            one.result()
    assert {*statuses} == {200}


def test_an_endpoint_that_ends_refuses_with_503_and_never_404(starter_index: Path, tmp_path: Path) -> None:
    seen: list[httpx.Response] = []

    def client() -> None:
        while running.process.poll() is None:
            try:
                # Each on a connection of its own: one that was kept may be closed just when it is used.
                seen.append(httpx.get(f"{running.url}/v1/version", timeout=60))
            except httpx.TransportError:
                time.sleep(0.05)  # nothing listens any more

    with serving(None, starter_index, tmp_path / "log.txt", "--log-dir", str(tmp_path / "logs")) as running:
        thread = threading.Thread(target=client)
        thread.start()
        time.sleep(0.5)
        running.process.send_signal(signal.SIGTERM)
        running.process.wait(240)
        thread.join(240)
    assert {answer.status_code for answer in seen} <= {200, 503}
    refused = [answer for answer in seen if answer.status_code == 503]
    assert refused, "it ends its gateways before its proxy"
    logged = {json.loads(line)["request_id"] for line in (tmp_path / "logs" / "proxy-0.jsonl").open()}
    for answer in refused:
        assert answer.headers["retry-after"] == "1"
        assert answer.json()["reason"] == "not_ready"
        assert answer.json()["request_id"] in logged
