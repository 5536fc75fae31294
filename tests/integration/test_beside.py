"""A real endpoint with a second release beside the served one: each kind of traffic, clicks, and its death."""

from __future__ import annotations

import json
import re
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
from helpers.documented import require_documented_answers
from helpers.endpoint import Running, free_port, replicas_of, serving

from cocite.corpus.starter import build_starter
from cocite.retrieval.index.snapshot import IndexSnapshot

pytestmark = pytest.mark.integration

ASKED = {"title": "Neural machine translation", "top_k": 8, "depth": 50, "evidence": False}
GONE = ("papineni2002bleu", "bahdanau2015neural", "vaswani2017attention")
"""Papers that the served index lacks, and the one beside it has."""
WAIT_S = 600
CLIENTS = 3


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index folder: 000001 has all papers, 000002, the current one, lacks some."""
    folder = tmp_path_factory.mktemp("beside")
    corpus = build_starter(folder / "corpus")
    IndexSnapshot.create(corpus, folder / "index")
    IndexSnapshot.remove(folder / "index", list(GONE))
    return folder / "index"


class Client:
    """A client of an endpoint with two releases."""

    def __init__(self, running: Running, log: Path, metrics_port: int) -> None:
        self.running, self.log, self.metrics_port = running, log, metrics_port
        self.http = httpx.Client(base_url=running.url, timeout=60)
        self.until(lambda: self.get("/v1/version")["beside"] is not None)

    def get(self, path: str) -> Any:
        return self.http.get(path).json()

    def ask(self, **more: Any) -> Any:
        answer = self.http.post("/v1/recommend", json=ASKED | more)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def until(self, true: Callable[[], bool]) -> None:
        deadline = time.monotonic() + WAIT_S
        while not true():
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.2)

    def metric(self, name: str, *labels: str) -> float:
        """The sum of a metric's series with some labels."""
        text = httpx.get(f"http://127.0.0.1:{self.metrics_port}/metrics", timeout=60).text
        lines = [line for line in text.splitlines() if re.match(rf"ray_cocite_{name}{{", line)]
        return sum(float(line.split()[-1]) for line in lines if all(label in line for label in labels))


def options(traffic: str, port: int, timeout_s: float) -> list[str]:
    """``timeout_s``: after which the served release answers alone; a busy machine may take seconds for an answer."""
    settings = {
        "beside.index_version": '"000001"',  # a word, and no number
        "beside.traffic": traffic,
        "beside.share": 0.5,
        "beside.timeout_s": timeout_s,
        "rollout.queries": 2,
    }
    return [
        "--metrics-port",
        str(port),
        *(x for name, value in settings.items() for x in ("--set", f"{name}={value}")),
    ]


def test_interleaved_answers_are_clicked_and_a_dead_release_disturbs_nobody(
    index: Path, tmp_path: Path
) -> None:
    log, port = tmp_path / "log.txt", free_port()
    with serving(None, index, log, *options("interleave", port, timeout_s=5)) as running:
        client = Client(running, log, port)
        version = client.get("/v1/version")
        assert (version["index_version"], version["beside"]["index_version"]) == ("000002", "000001")
        assert (version["beside"]["traffic"], version["refused"]) == ("interleave", [])

        # A request names its release, one of those that the endpoint tells of.
        assert version["releases"] == ["served", "beside"]
        unknown = ASKED | {"release": "challenger"}
        sentence = "release: no release 'challenger' is loaded; the names are 'served' and 'beside'."
        refused = client.http.post("/v1/recommend", json=unknown)
        assert (refused.status_code, refused.json()["error"]) == (422, sentence)
        assert refused.json()["field"] == "release"
        lines = client.http.post("/v1/recommend/batch", json=[unknown, ASKED | {"release": "beside"}]).text
        of_batch = {line["index"]: line for line in map(json.loads, lines.splitlines())}
        assert (of_batch[0]["status"], of_batch[0]["problem"]["error"]) == (422, sentence)
        assert of_batch[1]["answer"]["index_version"] == "000001"
        served, beside = client.ask(release="served"), client.ask(release="beside")
        assert (served["release"], served["index_version"]) == ("served", "000002")
        assert (beside["release"], beside["index_version"]) == ("beside", "000001")
        ids = [{paper["id"] for paper in answer["papers"]} for answer in (served, beside)]
        page = client.ask(page=beside["next"], release=None)
        assert (page["release"], page["papers"][0]["rank"]) == ("beside", 9)

        # Every second one that names none has papers of both, and clicks are credited.
        mixed, asked, deadline = [], 0, time.monotonic() + WAIT_S
        while len(mixed) < 6 and time.monotonic() < deadline:
            answer, asked = client.ask(), asked + 1
            if answer["interleaved"]:  # on a busy machine one may be too late, and the served release answers
                mixed.append(answer)
        assert len(mixed) == 6
        assert asked >= 11
        for answer in mixed:
            assert (answer["release"], answer["next"]) == ("interleaved", None)
            papers = [paper["id"] for paper in answer["papers"]]
            assert len(papers) == len({*papers}) == 8
            assert {*papers} <= ids[0] | ids[1]
            click = {"token": answer["interleaved"], "paper": papers[0]}
            assert client.http.post("/v1/click", json=click).json() == {"counted": True}
            assert client.http.post("/v1/click", json=click).json() == {"counted": False}
        assert client.http.post("/v1/click", json={"token": "x", "paper": "a"}).status_code == 404
        [comparison] = client.get("/v1/comparison")["comparisons"]
        assert (sum(comparison["wins"].values()), comparison["ties"]) == (6, 0)
        assert 6 <= comparison["answers"] <= asked, "one that was ready too late is counted, and was not sent"
        assert (comparison["index_version"], comparison["beside_index_version"]) == ("000002", "000001")
        assert comparison["interval"][0] <= comparison["share"] <= comparison["interval"][1]
        client.until(lambda: client.metric("clicks_total") == 6)
        client.until(lambda: client.metric("comparison_answers") == 6)

        def counts_agree() -> bool:
            """One that was ready too late may be counted after the first look."""
            [comparison] = client.get("/v1/comparison")["comparisons"]
            return 6 <= client.metric("interleaved_answers_total") == comparison["answers"] <= asked

        client.until(counts_agree)
        answered = ("release_requests_total", 'release="beside"', 'outcome="answered"')
        client.until(lambda: client.metric(*answered) >= 8)

        statuses = killed(client)
        assert set(statuses) == {200}, statuses

        def is_back() -> bool:
            answer = client.http.post("/v1/recommend", json=ASKED | {"release": "beside"})
            assert answer.status_code in (200, 503, 504), answer.text
            return answer.status_code == 200

        client.until(is_back)


def killed(client: Client) -> Counter[int]:
    """The statuses that clients get, more than 20, while the processes of the release beside are killed."""
    statuses, ended = Counter[int](), threading.Event()

    def ask() -> None:
        with httpx.Client(base_url=client.running.url, timeout=60) as http:
            while not ended.is_set():
                try:
                    statuses[http.post("/v1/recommend", json=ASKED).status_code] += 1
                except httpx.TransportError:
                    statuses[0] += 1

    threads = [threading.Thread(target=ask) for _ in range(CLIENTS)]
    for thread in threads:
        thread.start()
    dead: set[int] = set()

    def enough() -> bool:
        for process in replicas_of(client.running, "cocite-beside-"):
            with suppress(psutil.NoSuchProcess):
                process.kill()
                dead.add(process.pid)
        return len(dead) >= 2 and sum(statuses.values()) > 20  # both stages

    try:
        client.until(enough)
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    return statuses


def test_clients_keep_their_release(index: Path, tmp_path: Path) -> None:
    log, port = tmp_path / "log.txt", free_port()
    with serving(None, index, log, *options("split", port, timeout_s=60)) as running:
        client = Client(running, log, port)
        names = [f"client {number}" for number in range(16)]
        first = {name: client.ask(client=name)["index_version"] for name in names}
        assert set(first.values()) == {"000001", "000002"}
        assert {name: client.ask(client=name)["index_version"] for name in reversed(names)} == first
        client.until(lambda: client.metric("release_seconds_count") == 32)
        for name in ("served", "beside"):
            assert client.metric("release_seconds_count", f'release="{name}"') > 0
        require_documented_answers(
            running.url, tmp_path, "--phases", "examples,fuzzing", "--max-examples", "3"
        )


def test_shadowed_requests_are_compared(index: Path, tmp_path: Path) -> None:
    log, port = tmp_path / "log.txt", free_port()
    with serving(None, index, log, *options("shadow", port, timeout_s=60)) as running:
        client = Client(running, log, port)
        assert {client.ask()["release"] for _ in range(12)} == {"served"}
        client.until(lambda: client.metric("shadow_overlap_count") == 6)
        client.until(lambda: 0 < client.metric("shadow_overlap_sum") <= 6)
        answered = ("release_requests_total", 'release="beside"', 'outcome="answered"')
        client.until(lambda: client.metric(*answered) == 6)
