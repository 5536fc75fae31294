"""The endpoint in this process, asked over HTTP."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import httpx
import pytest
from helpers.endpoint import free_port
from helpers.span_receiver import SENT_S, receiving

from benchmarks._releases import publish_without
from cocite.corpus.starter import build_starter
from cocite.errors import CociteError, InputError
from cocite.retrieval.index.snapshot import IndexSnapshot
from cocite_serve.endpoint import lock_first
from cocite_serve.notices import Notices
from cocite_serve.one_process.endpoint import LocalEndpoint, start_here
from cocite_serve.one_process.metrics import LocalMetrics
from cocite_serve.settings import ServeSettings
from cocite_serve.tracing import exporting

TITLE = {"title": "Neural machine translation", "top_k": 5}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("here")
    IndexSnapshot.create(build_starter(folder / "corpus"), folder / "index")
    return folder / "index"


def settings_of(index: Path, **changes: object) -> ServeSettings:
    data = {"index": str(index), "port": free_port(), "logs": {"folder": str(index.parent / "logs")}}
    return ServeSettings.parse({**data, **changes}, where="the test")


@pytest.fixture(scope="module")
def lines() -> list[str]:
    return []


@pytest.fixture(scope="module")
def endpoint(index: Path, lines: list[str]) -> Iterator[LocalEndpoint]:
    settings = settings_of(index, watch={"seconds": 0.2}, request_timeout_s=60, rollout={"canary_s": 0.5})
    with start_here(settings, notify=lines.append) as endpoint:
        yield endpoint
    with pytest.raises(httpx.ConnectError, match="refused"):
        httpx.get(endpoint.url)
    with pytest.raises(httpx.ConnectError, match="refused"):
        httpx.get(str(endpoint.metrics_url))
    endpoint.stop()  # a second one does nothing


def kept(index: Path) -> list[dict[str, str]]:
    """The lines of the log beside an index that the operator was told, without their time."""
    parsed = [json.loads(line) for line in (index.parent / "logs" / "endpoint-0.jsonl").open()]
    return [{name: value for name, value in line.items() if name != "time"} for line in parsed]


def await_line(index: Path, outcome: str) -> None:
    """Return when the log has a line of this outcome, which is the last that the watcher does about a release."""
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        with suppress(FileNotFoundError, json.JSONDecodeError):  # it is written just now
            if any(line.get("outcome") == outcome for line in kept(index)):
                return
        time.sleep(0.1)
    pytest.fail(f"the log has no line of the outcome {outcome!r}")


def test_it_answers_with_papers_and_their_versions(endpoint: LocalEndpoint) -> None:
    answer = httpx.post(f"{endpoint.url}/v1/recommend", json=TITLE, timeout=60)
    assert answer.status_code == 200
    assert len(answer.json()["papers"]) == 5
    assert answer.json()["index_version"] == endpoint.release.index_version == "000001"
    assert answer.headers["x-request-id"] == answer.json()["request_id"]
    assert "server" not in answer.headers


def test_prometheus_reads_what_it_answered(endpoint: LocalEndpoint) -> None:
    assert httpx.post(f"{endpoint.url}/v1/recommend", json=TITLE, timeout=60).status_code == 200
    assert endpoint.metrics_url is not None
    text = httpx.get(endpoint.metrics_url, timeout=60).text
    assert 'ray_cocite_requests_total{path="/v1/recommend",status="200"}' in text
    assert 'ray_cocite_index_info{version="00000' in text
    assert 'ray_cocite_batch_requests_bucket{le="1.0",stage="retriever"}' in text
    assert "ray_cocite_index_papers" in text


def test_the_page_and_its_health_are_there(endpoint: LocalEndpoint) -> None:
    assert "<html" in httpx.get(endpoint.url, timeout=60).text
    assert httpx.get(f"{endpoint.url}/v1/health", timeout=60).json()["papers"] == 423


def test_a_connection_goes_on_after_a_head(endpoint: LocalEndpoint) -> None:
    with httpx.Client(base_url=endpoint.url, timeout=60) as client:
        for _ in range(3):
            head = client.head("/v1/version")
            assert (head.status_code, head.content) == (200, b"")
            assert client.post("/v1/recommend", json=TITLE).status_code == 200


def test_what_is_refused_is_refused_as_everywhere(endpoint: LocalEndpoint) -> None:
    refusal = httpx.post(f"{endpoint.url}/v1/recommend", json={"title": 3}, timeout=60)
    assert (refusal.status_code, refusal.headers["content-type"]) == (422, "application/problem+json")
    assert refusal.json()["field"] == "title"
    nowhere = httpx.get(f"{endpoint.url}/nowhere", timeout=60)
    assert nowhere.status_code == 404


def test_a_newer_snapshot_is_served_when_it_is_there(
    endpoint: LocalEndpoint, index: Path, lines: list[str]
) -> None:
    gone = httpx.post(f"{endpoint.url}/v1/recommend", json=TITLE, timeout=60).json()["papers"][0]["id"]
    IndexSnapshot.remove(index, [gone])
    await_line(index, "served")
    assert endpoint.release.index_version == "000002"
    answer = httpx.post(f"{endpoint.url}/v1/recommend", json=TITLE, timeout=60).json()
    assert answer["index_version"] == "000002"
    assert gone not in [paper["id"] for paper in answer["papers"]]
    assert lines[-1].startswith("Serving")
    assert kept(index)[-1] == {
        "level": "INFO",
        "outcome": "served",
        "release": "no model over index 000002",
        "message": lines[-1],
    }


def test_a_damaged_snapshot_is_refused_with_a_line_in_the_log(
    endpoint: LocalEndpoint, index: Path, lines: list[str]
) -> None:
    paper = httpx.post(f"{endpoint.url}/v1/recommend", json=TITLE, timeout=60).json()["papers"][0]["id"]
    before = (index / "CURRENT").read_text()
    version = publish_without(index, paper, damaged=True)
    await_line(index, "refused")
    (index / "CURRENT").write_text(before)
    line = kept(index)[-1]
    assert (line["level"], line["outcome"], line["release"]) == ("WARNING", "refused", f"Index {version}")
    assert "damaged: its SHA-256" in line["why"]
    assert line["message"] == lines[-1]


@pytest.mark.parametrize("name", ["gateway", "retriever", "reranker"])
@pytest.mark.parametrize("setting", ["replicas", "max_replicas"])
def test_one_process_has_one_of_each_part(index: Path, name: str, setting: str) -> None:
    settings = settings_of(index, **{name: {setting: 2}})
    with pytest.raises(InputError, match=rf"{name}\.{setting}: one process has one {name}, got 2"):
        start_here(settings)


def test_one_process_serves_one_release(index: Path) -> None:
    with pytest.raises(InputError, match="beside: one process serves one release"):
        start_here(settings_of(index, beside={"index": str(index)}))


def test_a_taken_port_is_said_before_anything_is_loaded(endpoint: LocalEndpoint, index: Path) -> None:
    taken = int(endpoint.url.rpartition(":")[2])
    with pytest.raises(InputError, match="cannot listen on"):
        start_here(settings_of(index, port=taken))


def test_a_request_is_one_trace_and_the_last_spans_are_sent_at_the_end(
    index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with receiving() as receiver:
        # It sets variables, which are taken back after the test.
        monkeypatch.setenv(exporting.ENDPOINT, "")
        monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "600000")
        monkeypatch.setattr(exporting, "_tracer", None)
        monkeypatch.setattr(exporting, "_processor", None)
        monkeypatch.setenv(exporting.TIMEOUTS[0], str(SENT_S))
        monkeypatch.setattr(exporting.flush, "__defaults__", (SENT_S,))
        settings = settings_of(index, traces={"endpoint": receiver.url})
        with start_here(settings) as endpoint:
            answer = httpx.post(
                f"{endpoint.url}/v1/recommend", json=TITLE, headers={"X-Request-ID": "5f0c"}, timeout=60
            )
            assert receiver.spans == []
        spans = receiver.of("5f0c")
    assert answer.status_code == 200
    assert {span.service for span in spans} == {"cocite"}
    assert {span.trace for span in spans} == {answer.headers["traceresponse"].split("-")[1]}
    by_id = {span.id: span for span in spans}
    parents = {
        span.name: by_id[span.parent].name if span.parent else "" for span in spans if span.kind != "client"
    }
    assert parents["POST /v1/recommend"] == ""
    assert parents["recommend"] == "POST /v1/recommend"
    assert parents["retriever.recommend"] == "retriever.recommend", "the call of it"
    assert (parents["chunk"], parents["generate"], parents["encode"]) == (
        "retriever.recommend",
        "chunk",
        "generate",
    )


def test_a_port_that_is_taken_while_the_stages_load_is_said(index: Path) -> None:
    settings = settings_of(index)
    notices = Notices(lambda _: None)
    endpoint = LocalEndpoint(settings, *lock_first(settings, notices), notices, LocalMetrics())
    with socket.socket() as other:
        other.bind((settings.host, settings.port))
        other.listen()
        with pytest.raises(CociteError, match="the endpoint does not listen at"):
            endpoint.begin()
    endpoint.stop()
