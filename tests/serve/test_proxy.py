"""The proxy's middleware before an application in the proxy's place; before a real one: tests/integration/endpoint."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
import uvicorn
from ray.serve._private.http_util import RequestIdMiddleware, call_function_from_import_path
from ray.util.metrics import Metric
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.testclient import TestClient
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cocite_serve.http.full_notes import RefuseWhenFull
from cocite_serve.http.own_refusals import OwnRefusals
from cocite_serve.http.problem_body import problem
from cocite_serve.proxy import (
    CALLBACK,
    COUNTED_PATHS,
    PAUSES_S,
    VARIABLE,
    AnswerOnce,
    ProxySettings,
    environment,
)
from cocite_serve.settings import Limits, LogSettings, ServeSettings

SETTINGS = ProxySettings(retry_after_s=3, body_bytes=100, draft_bytes=200)


class Proxy:
    """Asks an application, and adds the request's id to the response, as Ray Serve's proxy does."""

    def __init__(self, app) -> None:  # type: ignore[no-untyped-def]
        self.app, self.bodies = app, []  # type: ignore[var-annotated]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        json.dumps({**scope, "headers": None, "app": None, "extensions": None, "state": None}, default=repr)
        assert "cocite.context" not in scope, "the scope goes to another process"
        self.bodies.append((await receive())["body"])
        await RequestIdMiddleware(self.app)(scope, receive, send)


def before(proxy: ASGIApp, settings: ProxySettings = SETTINGS, logs: LogSettings | None = None) -> AnswerOnce:
    return AnswerOnce(proxy, settings, OwnRefusals(COUNTED_PATHS, logs))


def client(proxy: ASGIApp, logs: LogSettings | None = None) -> TestClient:
    return TestClient(before(proxy, logs=logs))


@pytest.mark.parametrize(
    ("status", "headers", "expected", "reason", "retry"),
    [
        (404, {}, 503, "not_ready", "3"),
        (503, {}, 503, "not_ready", "3"),
        (429, {"Retry-After": "9"}, 429, "overloaded", "9"),
        (429, {}, 429, "overloaded", "3"),
        (408, {}, 504, "timeout", None),
        (500, {}, 500, "failed", None),
    ],
)
def test_what_the_proxy_says_itself_is_said_as_the_endpoint_does(
    status: int, headers: dict[str, str], expected: int, reason: str, retry: str | None
) -> None:
    answer = client(Proxy(PlainTextResponse("Path not found.", status, headers=headers))).get(
        "/v1/health", headers={"X-Request-ID": "5f0c"}
    )
    assert (answer.status_code, answer.headers.get("retry-after")) == (expected, retry)
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.json()["reason"], answer.json()["request_id"]) == (reason, "5f0c")


def test_what_a_gateway_says_is_passed_on_with_one_id() -> None:
    async def gateway(scope: Scope, receive: Receive, send: Send) -> None:
        await problem(scope, 404, "No such paper")(scope, receive, send)

    answer = client(Proxy(gateway)).get("/v1/papers/x", headers={"X-Request-ID": "5f0c"})
    assert (answer.status_code, answer.json()["error"]) == (404, "No such paper.")
    assert answer.headers.get_list("x-request-id") == ["5f0c"]


@pytest.mark.parametrize("id", [b"two words", b"\xff\xfe", b"x" * 500])
def test_the_proxy_never_sees_an_id_that_may_not_be_logged(id: bytes) -> None:
    answer = client(Proxy(JSONResponse({}))).get("/", headers={"X-Request-ID": id})
    [made] = answer.headers.get_list("x-request-id")
    assert len(made) == 36


def test_no_client_tells_ray_serve_how_to_pass_its_request_on() -> None:
    seen: dict[str, str] = {}

    async def gateway(scope: Scope, receive: Receive, send: Send) -> None:
        seen.update((name.decode(), value.decode()) for name, value in scope["headers"])
        await JSONResponse({})(scope, receive, send)

    told = {
        "serve_multiplexed_model_id": "5f0c",
        "Serve-Multiplexed-Model-Id": "5f0c",
        "X-Session-ID": "5f0c",
        "X-Request-Timeout-Seconds": "0",
        "X-Request-Disconnect-Disabled": "?1",
    }
    answer = client(Proxy(gateway)).get("/v1/version", headers={**told, "X-API-Key": "cocite_x"})
    assert answer.status_code == 200
    assert seen["x-api-key"] == "cocite_x"
    assert not seen.keys() & {name.lower() for name in told}


def test_an_endpoint_that_is_ending_takes_no_request(tmp_path: Path) -> None:
    settings, proxy = ProxySettings(retry_after_s=3, ending=tmp_path / "ending"), Proxy(JSONResponse({}))
    asked = TestClient(before(proxy, settings))
    assert asked.get("/v1/version").status_code == 200
    (tmp_path / "ending").touch()
    answer = asked.get("/v1/version")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "3")
    assert answer.json()["reason"] == "not_ready"
    assert len(proxy.bodies) == 1


def test_a_text_that_is_no_refusal_is_passed_on() -> None:
    answer = client(Proxy(PlainTextResponse("@article{x}"))).get("/v1/bibtex")
    assert (answer.status_code, answer.text) == (200, "@article{x}")


@pytest.mark.parametrize(("deaths", "status"), [(1, 200), (len(PAUSES_S), 200), (len(PAUSES_S) + 1, 503)])
def test_a_gateway_that_dies_is_replaced_by_another_with_the_same_body(deaths: int, status: int) -> None:
    asked = 0

    async def gateway(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal asked
        asked += 1
        if asked > deaths:
            await JSONResponse({})(scope, receive, send)

    proxy = Proxy(gateway)
    answer = client(proxy).post("/v1/recommend", content=b'{"title": "x"}')
    assert answer.status_code == status
    assert proxy.bodies == [b'{"title": "x"}'] * (1 + min(deaths, len(PAUSES_S)))
    assert (answer.headers.get("retry-after") == "3") == (status == 503)


@pytest.mark.parametrize("leaves", ["before", "while"])
def test_nobody_is_asked_again_for_a_client_that_has_left(leaves: str) -> None:
    asked = asyncio.Event()
    attempts = []

    async def gateway(scope: Scope, receive: Receive, send: Send) -> None:
        asked.set()
        attempts.append(await receive())

    async def run() -> None:
        if leaves == "before":
            asked.set()
        bodies: list[dict[str, object]] = [{"type": "http.request", "body": b"{}"}]

        async def receive() -> dict[str, object]:
            if bodies:
                return bodies.pop()
            await asked.wait()
            return {"type": "http.disconnect"}

        async def send(_: object) -> None:
            raise AssertionError("nobody is there")

        scope = {"type": "http", "path": "/", "method": "POST", "headers": []}
        await before(Proxy(gateway))(scope, receive, send)

    asyncio.run(run())
    assert attempts == [{"type": "http.disconnect"}] * (leaves == "while")


def test_so_many_bodies_of_drafts_are_held_until_their_answers_begin() -> None:
    async def ask() -> tuple[list[int], int]:
        go, statuses, read = asyncio.Event(), [], 0  # type: ignore[var-annotated]

        async def gateway(scope: Scope, receive: Receive, send: Send) -> None:
            await receive()
            await go.wait()
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"{}", "more_body": True})
            await asyncio.sleep(3600)  # a line comes now and then

        async def receive() -> dict[str, object]:
            nonlocal read
            if read < 3 and not go.is_set():
                read += 1
                return {"type": "http.request", "body": b"{}"}
            await asyncio.sleep(3600)
            raise AssertionError("it is not reached")

        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])

        proxy = before(gateway, SETTINGS.model_copy(update={"drafts": 2}))
        scope = {"type": "http", "path": "/v1/draft", "method": "POST", "headers": []}
        under_way = [asyncio.ensure_future(proxy(dict(scope), receive, send)) for _ in range(2)]
        while not proxy._drafts.full:
            await asyncio.sleep(0)
        await proxy(dict(scope), receive, send)
        assert statuses == [429]
        go.set()
        while len(statuses) < 3:
            await asyncio.sleep(0)
        assert not proxy._drafts.full
        for each in under_way:
            each.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)
        return statuses, read

    statuses, _ = asyncio.run(ask())
    assert statuses == [429, 200, 200]


@pytest.mark.parametrize(
    ("path", "sent", "status", "label", "reason"),
    [
        ("/v1/draft", b"x" * 201, 413, "/v1/draft", "body_too_large"),
        ("/v1/rerank", b"x" * 101, 413, "/v1/rerank", "body_too_large"),
        ("/wp-login.php", b"x" * 101, 413, "other", "body_too_large"),
        ("/v1/recommend", b"{}", 503, "/v1/recommend", "not_ready"),
    ],
)
def test_what_no_gateway_sees_is_counted(
    monkeypatch: pytest.MonkeyPatch, path: str, sent: bytes, status: int, label: str, reason: str
) -> None:
    given: list[tuple[str, dict[str, str]]] = []
    monkeypatch.setattr(
        Metric, "_record", lambda self, _, tags=None: given.append((self.info["name"], tags or {}))
    )
    no_gateway = Proxy(PlainTextResponse("Path not found.", 404))
    assert client(no_gateway).post(path, content=sent).status_code == status
    assert given == [
        ("cocite_requests", {"path": label, "status": str(status)}),
        ("cocite_request_seconds", {"path": label}),
        ("cocite_rejected", {"reason": reason}),
    ]


def test_a_large_body_does_not_reach_a_gateway() -> None:
    proxy = Proxy(JSONResponse({}))
    assert client(proxy).post("/", content=b"x" * 101).status_code == 413
    assert proxy.bodies == []


def test_a_body_that_comes_while_too_many_others_do_is_refused() -> None:
    settings = ProxySettings(retry_after_s=3, arriving_bytes=100)
    answer_once = before(Proxy(JSONResponse({})), settings)

    async def both() -> list[Message]:
        sent: list[Message] = []
        came = asyncio.Event()

        async def slow() -> Message:
            if came.is_set():
                await asyncio.sleep(3600)
            came.set()
            return {"type": "http.request", "body": b" " * 60, "more_body": True}

        async def receive() -> Message:
            return {"type": "http.request", "body": b" " * 60, "more_body": False}

        async def send(message: Message) -> None:
            sent.append(message)

        scope = {"type": "http", "path": "/v1/recommend", "method": "POST", "headers": []}
        waiting = asyncio.ensure_future(answer_once(dict(scope), slow, send))
        await came.wait()
        await asyncio.sleep(0)
        await answer_once(dict(scope), receive, send)
        waiting.cancel()
        return sent

    begin, body = asyncio.run(both())
    assert (begin["status"], dict(begin["headers"])[b"retry-after"]) == (429, b"3")
    assert json.loads(body["body"])["reason"] == "overloaded"


def test_rays_own_paths_are_its_own() -> None:
    answer = client(Proxy(PlainTextResponse("This node is being drained.", 503))).get("/-/healthz")
    assert (answer.status_code, answer.text) == (503, "This node is being drained.")


def test_ray_finds_the_middleware_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = ServeSettings(
        index="index",
        retry_after_s=7,
        gateway={"replicas": 2},
        limits={"body_bytes": 2048, "draft_bytes": 4096, "body_s": 3, "arriving_bytes": 9000}
        | {"connections": 50, "head_bytes": 1024, "head_s": 4},
    )
    monkeypatch.setitem(uvicorn.config.HTTP_PROTOCOLS, "auto", "")  # is put back after the test
    for name, value in environment(settings).items():
        monkeypatch.setenv(name, value)
    inner, middleware = call_function_from_import_path(CALLBACK)
    assert (inner.cls, middleware.cls) == (RefuseWhenFull, AnswerOnce)
    assert middleware.kwargs["settings"] == ProxySettings(
        **{"connections": 50, "head_bytes": 1024, "head_s": 4},
        **{"body_bytes": 2048, "draft_bytes": 4096, "body_s": 3, "arriving_bytes": 9000},
        drafts=32,
        retry_after_s=7,
    )
    server = uvicorn.Config(PlainTextResponse())  # Ray Serve names no protocol when it makes its own
    server.load()
    assert server.http_protocol_class.limits == Limits(connections=50, head_bytes=1024, head_s=4)
    monkeypatch.delenv(VARIABLE)
    [_, middleware] = call_function_from_import_path(CALLBACK)
    defaults = ServeSettings(index="index")
    assert middleware.kwargs["settings"].body_bytes == defaults.limits.body_bytes
    assert middleware.kwargs["settings"].body_s == defaults.limits.body_s


@pytest.mark.parametrize(("gateways", "most"), [({}, 1), ({"replicas": 2}, 2), ({"max_replicas": 3}, 3)])
def test_drafts_are_held_for_all_gateways_that_there_may_be(gateways: dict[str, int], most: int) -> None:
    settings = ServeSettings(index="index", gateway=gateways, limits={"drafts_waiting": 5})
    told = ProxySettings.model_validate_json(environment(settings)[VARIABLE])
    assert told.drafts == 5 * most


@pytest.mark.parametrize("receives", [0, 1])
def test_a_gateway_may_die_before_or_after_it_has_the_body(receives: int) -> None:
    bodies = []

    async def proxy(scope: Scope, receive: Receive, send: Send) -> None:
        if not bodies:
            bodies.append(b"dead")
            for _ in range(receives):
                await receive()
            return
        bodies.append((await receive())["body"])
        await JSONResponse({})(scope, receive, send)

    answer = client(proxy).post("/v1/recommend", content=b"x" * 100)
    assert (answer.status_code, bodies[1]) == (200, b"x" * 100)


@pytest.mark.parametrize(
    ("name", "status"), [(b"x-name", 400), (b"x-session-id", 200), (b"x-request-id", 200)]
)
def test_a_header_that_is_not_utf8_is_refused_and_an_id_replaced(name: bytes, status: int) -> None:
    sent = []

    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": b""}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "path": "/v1/version", "method": "GET", "headers": [(name, b"\xff\xfe")]}
    proxy = Proxy(JSONResponse({}))
    asyncio.run(before(proxy)(scope, receive, send))  # type: ignore[arg-type]
    assert sent[0]["status"] == status
    assert len(proxy.bodies) == (status == 200)
    if status == 400:
        assert json.loads(sent[1]["body"])["error"] == "The header x-name is not UTF-8."


@pytest.mark.parametrize(
    ("path", "size", "status"),
    [
        ("/v1/draft", 200, 200),
        ("/v1/draft", 201, 413),
        ("/v1/draft/text", 200, 200),
        ("/v1/draft/finished", 200, 200),
        ("/v1/x", 101, 413),
    ],
)
def test_a_draft_may_be_larger(path: str, size: int, status: int) -> None:
    assert client(Proxy(PlainTextResponse("yes"))).post(path, content=b"x" * size).status_code == status
