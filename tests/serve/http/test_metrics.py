"""What is counted of each request: the values that Ray is given; with Prometheus: tests/integration/endpoint."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from helpers.api_backend import InProcess, client
from ray.util.metrics import Metric
from starlette.testclient import TestClient

from cocite.errors import CociteError
from cocite.retrieval.remote_shards import ShardsUnavailableError
from cocite_mlflow.references import ModelVersion
from cocite_serve.http.api import build_app
from cocite_serve.http.conversion import Answer
from cocite_serve.http.metrics import REASONS, GatewayMetrics, reason_of
from cocite_serve.http.problems import STATUS_DESCRIPTIONS, NotReadyError, OverloadedError
from cocite_serve.json_log import JsonLog
from cocite_serve.settings import LogSettings, ServeSettings

Values = list[tuple[str, float, dict[str, str]]]
PASSAGE = {"context": "We measure the quality of translations with BLEU [CIT]."}


@pytest.fixture
def values(monkeypatch: pytest.MonkeyPatch) -> Values:
    """Name, value and tags of everything that Ray's metrics are given."""
    given: Values = []
    monkeypatch.setattr(
        Metric,
        "_record",
        lambda self, value, tags=None: given.append((self.info["name"], value, tags or {})),
    )
    return given


def named(values: Values, name: str) -> list[dict[str, str]]:
    return [tags for found, _, tags in values if found == name]


def test_an_answer_is_counted_and_timed_with_its_stages(backend: InProcess, values: Values) -> None:
    assert client(backend).post("/v1/recommend", json=PASSAGE).status_code == 200
    assert named(values, "cocite_requests") == [{"path": "/v1/recommend", "status": "200"}]
    assert named(values, "cocite_rejected") == []
    [(_, seconds, tags)] = [value for value in values if value[0] == "cocite_request_seconds"]
    assert tags == {"path": "/v1/recommend"}
    assert 0 < seconds < 60
    stages = [(tags["stage"], seconds) for name, seconds, tags in values if name == "cocite_stage_seconds"]
    assert stages == [("retrieve", 0.001), ("rerank", 0.001)]


@pytest.mark.parametrize(
    ("method", "path", "label", "status"),
    [
        ("GET", "/v1/health", "/v1/health", 200),
        ("GET", "/v1/papers/no/such/paper", "/v1/papers/{id:path}", 404),
        ("GET", "/v1/nothing", "other", 404),
        ("GET", "/wp-login.php", "other", 404),
        ("GET", "/static/app.js", "/static", 200),
        ("GET", "/static/no-such-file", "/static", 404),
        ("GET", "/", "/", 200),
        ("POST", "/v1/health", "/v1/health", 405),
    ],
)
def test_a_path_stands_for_its_route_so_that_there_are_few(
    backend: InProcess, values: Values, method: str, path: str, label: str, status: int
) -> None:
    assert client(backend).request(method, path).status_code == status
    assert named(values, "cocite_requests") == [{"path": label, "status": str(status)}]


def failing(backend: InProcess, error: Exception) -> InProcess:
    async def recommend(*_: object) -> Answer:
        raise error

    backend.recommend = recommend  # type: ignore[method-assign]
    return backend


@pytest.mark.parametrize(
    ("error", "status", "reason"),
    [
        (OverloadedError("64 wait"), 429, "overloaded"),
        (NotReadyError("no stages are loaded"), 503, "not_ready"),
        (ShardsUnavailableError.of({3: "its process ended"}, 8), 503, "shards_unavailable"),
        (TimeoutError(), 504, "timeout"),
        (RuntimeError("a defect"), 500, "failed"),
    ],
)
def test_each_refusal_has_its_reason(
    backend: InProcess, values: Values, error: Exception, status: int, reason: str
) -> None:
    answer = client(failing(backend, error)).post("/v1/recommend", json=PASSAGE)
    assert answer.status_code == status
    assert named(values, "cocite_requests") == [{"path": "/v1/recommend", "status": str(status)}]
    assert named(values, "cocite_rejected") == [{"reason": reason}]


def test_what_is_refused_before_it_is_routed_is_counted_with_its_path(
    backend: InProcess, values: Values
) -> None:
    assert client(backend).post("/v1/recommend", content=b"x" * 5000).status_code == 413
    assert client(backend).post("/v1/recommend", json={"titel": "x"}).status_code == 422
    assert named(values, "cocite_rejected") == [{"reason": "body_too_large"}, {"reason": "invalid"}]
    assert {tags["path"] for tags in named(values, "cocite_requests")} == {"/v1/recommend"}


def logged(backend: InProcess, log: list[dict[str, Any]], **changes: Any) -> TestClient:
    settings = ServeSettings(index=Path("unused"), **changes)
    return TestClient(build_app(lambda: backend, settings, log=log.append), raise_server_exceptions=False)


def test_each_request_is_one_line_with_its_times_and_versions(backend: InProcess) -> None:
    log: list[dict[str, Any]] = []
    answer = logged(backend, log).post("/v1/recommend", json=PASSAGE, headers={"X-Request-ID": "5f0c"})
    [line] = log
    assert 0 < line.pop("ms") < 60_000
    assert line == {
        "request_id": "5f0c",
        "method": "POST",
        "path": "/v1/recommend",
        "status": 200,
        "retrieve_ms": 1.0,
        "rerank_ms": 1.0,
        "model_version": backend.model_version,
        "index_version": backend.index_version,
    }
    assert answer.json()["request_id"] == "5f0c"


WORDS = "unpublished manuscript"


@pytest.mark.parametrize("error", [None, KeyError, TimeoutError, OverloadedError, NotReadyError, CociteError])
def test_the_words_of_a_draft_never_come_into_the_log(
    backend: InProcess, error: type[Exception] | None, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def recommend(query: Any, *_: object) -> Answer:
        assert error is not None
        raise error(query.title if error is KeyError else "")

    if error is not None:
        backend.recommend = recommend  # type: ignore[method-assign]
    log = JsonLog.open(LogSettings(folder=tmp_path), "gateway")
    settings = ServeSettings(index=Path("unused"))
    served = TestClient(build_app(lambda: backend, settings, log=log.write), raise_server_exceptions=False)
    served.post("/v1/recommend", json={"title": WORDS, "text": WORDS})
    served.post("/v1/recommend", json={"title": WORDS})
    served.post(f"/v1/recommend?q={WORDS}", json={"titel": WORDS})
    served.post("/v1/recommend", content=WORDS.encode())
    served.get(f"/v1/papers/{WORDS}")
    served.get(f"/{WORDS}/{WORDS}")
    served.request(WORDS.split()[0].upper(), "/v1/health", headers={"X-Request-ID": WORDS})
    log.close()
    text = (log.path.read_text() + caplog.text).lower()
    assert not any(word in text for word in WORDS.split())
    lines = [json.loads(line) for line in log.path.read_text().splitlines()]
    assert len(lines) == 7
    assert lines[-1]["method"] == "other"
    failed = [line for line in lines if line["status"] == 500]
    assert bool(failed) == (error in (KeyError, CociteError))
    for line in failed:
        assert line["error"][0].startswith(("KeyError", "CociteError"))
        assert any("in recommend" in place for place in line["error"])


def test_every_status_that_the_api_documents_has_a_reason_of_its_own() -> None:
    documented = [reason_of(status) for status in STATUS_DESCRIPTIONS]
    assert len({*documented}) == len(STATUS_DESCRIPTIONS)
    assert {*REASONS} - {405, 499} <= {*STATUS_DESCRIPTIONS}


def test_shards_that_an_answer_lacks_are_counted_by_their_number(values: Values) -> None:
    GatewayMetrics().observe(Answer([], 20.0, 30.0, shards=8, missing_shards=(3, 5)))
    assert named(values, "cocite_partial_answers") == [{"shard": "3"}, {"shard": "5"}]


def test_gauges_are_set_again_and_again_with_what_is_served_then(
    values: Values, monkeypatch: pytest.MonkeyPatch
) -> None:
    def backend(index: str, model: ModelVersion | None) -> Any:
        papers = type("Papers", (list,), {"created": "2026-11-02T03:04:05+00:00"})([1, 2])
        return SimpleNamespace(papers=papers, index_version=index, model_version="5f0c", registered=model)

    monkeypatch.setattr("cocite_serve.http.metrics.REPEAT_S", 0.0)
    metrics, served = GatewayMetrics(), [backend("000001", None)]

    async def run() -> None:
        telling = asyncio.create_task(metrics.repeat(lambda: served[-1]))
        for _ in range(3):
            await asyncio.sleep(0)
        served.append(backend("000002", ModelVersion("ranker", 7, "champion")))
        metrics.begin()
        await asyncio.sleep(0)
        telling.cancel()

    asyncio.run(run())
    told = [tags["version"] for tags in named(values, "cocite_index_info")]
    assert told[:2] == ["000001", "000001"]
    assert told[-1] == "000002"
    models = [(tags["name"], tags["number"]) for tags in named(values, "cocite_model_info")]
    assert (models[0], models[-1]) == (("", ""), ("ranker", "7"))
    made = {value for name, value, _ in values if name == "cocite_index_created_timestamp_seconds"}
    assert made == {1793588645.0}
    assert {value for name, value, _ in values if name == "cocite_index_papers"} == {2}
    assert [value for name, value, _ in values if name == "cocite_requests_in_flight"][-1] == 1


def test_the_gauges_are_set_while_the_application_runs(backend: InProcess, values: Values) -> None:
    with client(backend):
        pass
    assert {"version": backend.index_version} in named(values, "cocite_index_info")


def test_the_papers_of_an_index_know_when_it_was_made(tmp_path: Path) -> None:
    from datetime import UTC, datetime, timedelta

    from cocite.corpus.starter import build_starter
    from cocite.retrieval.index.snapshot import IndexSnapshot
    from cocite_serve.http.papers import Papers

    IndexSnapshot.create(build_starter(tmp_path / "corpus"), tmp_path / "index")
    created = Papers.open(tmp_path / "index", "000001").created
    assert created is not None
    assert timedelta(0) <= datetime.now(UTC) - datetime.fromisoformat(created) < timedelta(minutes=5)
