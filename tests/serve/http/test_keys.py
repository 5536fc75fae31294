"""Who gets in, through the whole application: keys, roles, rates, quotas, and a file that changes."""

from __future__ import annotations

import json
import logging
import os
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from helpers.api_backend import InProcess, client
from starlette.testclient import TestClient

from cocite.errors import InputError
from cocite_serve.http import keys
from cocite_serve.http.api import build_app
from cocite_serve.http.keys import ADMIN, OPEN, KeyRing
from cocite_serve.key_file import VARIABLE, digest, new_key
from cocite_serve.settings import KeySettings, ServeSettings

PASSAGE = {"context": "We measure the quality of translations with BLEU [CIT]."}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "keys"


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def served(backend: InProcess, file: Path, **changes: Any) -> TestClient:
    return client(backend, keys={"file": file, "check_s": 1e-9}, **changes)


def test_without_keys_anybody_may(backend: InProcess) -> None:
    assert client(backend).get("/v1/version").status_code == 200
    assert client(backend).get("/v1/keys").status_code == 404


def test_nobody_gets_in_without_a_key_but_to_what_holds_nothing(backend: InProcess, file: Path) -> None:
    key = new_key(file, "web")
    http = served(backend, file)
    document = http.get("/openapi.json").json()
    asked = 0
    for path, operations in document["paths"].items():
        for method in operations:
            answer = http.request(method, path.replace("{id}", "x"), json=PASSAGE)
            if path in OPEN:
                assert answer.status_code == 200
                continue
            asked += 1
            assert (answer.status_code, answer.json()["reason"]) == (401, "no_key"), path
            assert answer.headers["www-authenticate"].startswith("Bearer")
            assert answer.headers["content-type"] == "application/problem+json"
    assert asked >= 6
    for path in ("/v1/nothing", "/v1/recommend/", "//v1/version", "/V1/version", "/static", "/docs/"):
        assert http.get(path, follow_redirects=False).status_code == 401, path
    for path in (
        "/",
        "/static/app.js",
        "/docs",
        "/docs-assets/swagger-ui.css",
        "/openapi.json",
        "/v1/health",
    ):
        assert http.get(path).status_code == 200, path
    for headers in (bearer(key), {"X-API-Key": key}, {"Authorization": f"bearer  {key}"}):
        assert http.post("/v1/recommend", json=PASSAGE, headers=headers).status_code == 200


def test_the_page_is_open_and_vectors_of_texts_which_have_its_path_are_not(
    backend: InProcess, file: Path
) -> None:
    key = new_key(file, "web")
    http, texts = served(backend, file), {"inputs": "Parsing"}
    refused = http.post("/", json=texts)
    assert (refused.status_code, refused.json()["reason"]) == (401, "no_key")
    assert http.post("/", json=texts, headers=bearer(key)).status_code == 424, "this model has no encoder"
    assert http.head("/").status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        bearer("cocite_wrong"),
        bearer(""),
        {"Authorization": "Basic d2ViOng="},
        {"X-API-Key": ""},
        {"X-API-Key": "x" * 5000},
        {"X-API-Key": b"\xff\xfe"},
    ],
)
def test_what_is_no_key_is_refused(backend: InProcess, file: Path, headers: Any) -> None:
    new_key(file, "web")
    answer = served(backend, file).get("/v1/version", headers=headers)
    assert answer.status_code == 401


def test_the_hash_in_the_file_is_no_key(backend: InProcess, file: Path) -> None:
    new_key(file, "web")
    hashed = json.loads(file.read_text())["sha256"]
    assert served(backend, file).get("/v1/version", headers=bearer(hashed)).status_code == 401


def test_a_readers_key_does_not_show_the_use_of_all_keys(backend: InProcess, file: Path) -> None:
    reader, admin = new_key(file, "web", per_day=5), new_key(file, "ops", "admin")
    http = served(backend, file)
    refused = http.get("/v1/keys", headers=bearer(reader))
    assert (refused.status_code, refused.json()["reason"]) == (403, "forbidden")
    assert refused.json()["error"] == "The role reader does not allow /v1/keys."
    http.get("/v1/version", headers=bearer(reader))
    use = http.get("/v1/keys", headers=bearer(admin)).json()
    assert use == [
        {"name": "web", "role": "reader", "per_minute": None, "per_day": 5, "today": 1},
        {"name": "ops", "role": "admin", "per_minute": None, "per_day": None, "today": 1},
    ]
    assert {"/v1/keys"} == ADMIN


def test_a_rate_and_a_quota_end_in_429_with_the_seconds(
    backend: InProcess, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Of the machine's clock five seconds, in which a busy one may do nothing else, would allow one request more.
    monkeypatch.setattr(keys, "time", SimpleNamespace(monotonic=lambda: 100.0, time=time.time))
    fast, few = new_key(file, "fast", per_minute=12), new_key(file, "few", per_day=2)
    http = served(backend, file)
    statuses = [http.get("/v1/version", headers=bearer(fast)).status_code for _ in range(4)]
    assert statuses == [200, 200, 429, 429], "a sixth of a minute's may come at once"
    refused = http.get("/v1/version", headers=bearer(fast))
    assert 1 <= int(refused.headers["retry-after"]) <= 5
    assert refused.json()["reason"] == "rate"
    assert refused.json()["error"].startswith("This API key may send 12 requests a minute; try again in ")
    statuses = [http.get("/v1/version", headers=bearer(few)).status_code for _ in range(3)]
    assert statuses == [200, 200, 429]
    refused = http.get("/v1/version", headers=bearer(few))
    assert (refused.json()["reason"], 1 <= int(refused.headers["retry-after"]) <= 86_400) == ("quota", True)


def test_gateways_share_a_keys_quota(backend: InProcess, file: Path) -> None:
    key = new_key(file, "web", per_day=5)
    http = served(backend, file, gateway={"replicas": 2})
    statuses = [http.get("/v1/version", headers=bearer(key)).status_code for _ in range(4)]
    assert statuses == [200, 200, 200, 429]


def test_a_gateway_that_is_started_anew_goes_on_with_the_days_counts(
    backend: InProcess, file: Path, tmp_path: Path
) -> None:
    key, other = new_key(file, "web", per_day=3), new_key(file, "ops", per_day=3)
    logs = {"folder": str(tmp_path / "logs")}
    statuses = []
    for _ in range(2):
        with served(backend, file, logs=logs) as http:
            statuses += [http.get("/v1/version", headers=bearer(key)).status_code for _ in range(2)]
    assert statuses == [200, 200, 200, 429]
    with served(backend, file, logs=logs) as http:
        assert http.get("/v1/version", headers=bearer(other)).status_code == 200
    assert [path.name for path in (tmp_path / "logs").glob("keys-*")] == ["keys-0.json"]


def test_a_changed_file_is_seen_and_what_stays_keeps_its_counts(backend: InProcess, file: Path) -> None:
    old = new_key(file, "old", per_day=2)
    http = served(backend, file)
    assert http.get("/v1/version", headers=bearer(old)).status_code == 200
    new = new_key(file, "new")
    assert http.get("/v1/version", headers=bearer(new)).status_code == 200
    assert [http.get("/v1/version", headers=bearer(old)).status_code for _ in range(2)] == [200, 429]
    file.write_text(file.read_text().splitlines()[1] + "\n")
    assert http.get("/v1/version", headers=bearer(old)).status_code == 401
    assert http.get("/v1/version", headers=bearer(new)).status_code == 200


def test_a_key_whose_line_changes_goes_on_with_the_days_count(backend: InProcess, file: Path) -> None:
    key = new_key(file, "web", per_day=3)
    http = served(backend, file)
    assert [http.get("/v1/version", headers=bearer(key)).status_code for _ in range(2)] == [200, 200]
    file.write_text(file.read_text().replace('"per_day":3', '"per_day":2'))
    assert http.get("/v1/version", headers=bearer(key)).status_code == 429


def test_a_file_that_changes_without_another_time_or_size_is_seen(backend: InProcess, file: Path) -> None:
    key = new_key(file, "web")
    http = served(backend, file)
    assert http.get("/v1/version", headers=bearer(key)).status_code == 200
    before = file.stat()
    file.write_text(file.read_text().replace(digest(key), digest("cocite_another")))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert http.get("/v1/version", headers=bearer(key)).status_code == 401


def test_a_file_that_is_broken_or_gone_changes_nothing_and_is_told(
    backend: InProcess, file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    key = new_key(file, "web")
    http = served(backend, file)
    with caplog.at_level(logging.ERROR, "ray.serve"):
        file.write_text("{")
        assert http.get("/v1/version", headers=bearer(key)).status_code == 200
        os.unlink(file)
        assert http.get("/v1/version", headers=bearer(key)).status_code == 200
    assert caplog.text.count("the API keys stay as they were") == 2
    assert http.get("/v1/version", headers=bearer("cocite_other")).status_code == 401
    with pytest.raises(InputError, match="cannot be read"):
        KeyRing(KeySettings(file=file))


def test_keys_come_from_the_environment(
    backend: InProcess, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = new_key(file, "web")
    monkeypatch.setenv(VARIABLE, file.read_text())
    assert client(backend).get("/v1/version").status_code == 401
    assert client(backend).get("/v1/version", headers=bearer(key)).status_code == 200


def test_the_log_has_the_keys_name_and_never_the_key(backend: InProcess, file: Path) -> None:
    key, log = new_key(file, "web", per_day=1), []  # type: ignore[var-annotated]
    settings = ServeSettings(index=Path("unused"), keys={"file": file})
    http = TestClient(build_app(lambda: backend, settings, log=log.append))
    for headers in (bearer(key), bearer(key), bearer("cocite_wrong")):
        http.get("/v1/version", headers=headers)
    told = [(line["status"], line.get("key"), line.get("reason")) for line in log]
    assert told == [(200, "web", None), (429, "web", "quota"), (401, None, "no_key")]
    assert key not in str(log)


def test_no_other_origin_may_ask(backend: InProcess) -> None:
    http, origin = client(backend), {"Origin": "https://elsewhere.example"}
    asked = http.options("/v1/recommend", headers={**origin, "Access-Control-Request-Method": "POST"})
    assert asked.status_code == 405
    for answer in (asked, http.get("/v1/version", headers=origin)):
        assert not [name for name in answer.headers if name.startswith("access-control")]
