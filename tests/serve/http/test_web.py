from __future__ import annotations

from pathlib import Path

import pytest
from helpers.api_backend import InProcess, client

from cocite_serve.http.web import PAGE, SWAGGER


@pytest.mark.parametrize("declared", [True, False])
def test_large_bodies_are_refused(backend: InProcess, declared: bool) -> None:
    body = b"x" * 5000
    answer = client(backend).post(
        "/v1/recommend", content=body if declared else iter([body[:3000], body[3000:]])
    )
    assert answer.status_code == 413
    assert answer.json()["error"] == "The request's body is larger than the 4,096 bytes allowed."


@pytest.mark.parametrize("length", ["-1", "many", "4097"])
def test_a_declared_length_that_is_no_length_is_refused_unread(backend: InProcess, length: str) -> None:
    answer = client(backend).post("/v1/recommend", content=b"{}", headers={"Content-Length": length})
    assert answer.status_code == 413


def test_a_body_of_the_limit_is_read(backend: InProcess) -> None:
    body = b'{"title": "x"}'
    request = body + b" " * (4096 - len(body))
    answer = client(backend).post(
        "/v1/recommend",
        content=iter([request[:10], request[10:]]),
        headers={"Content-Type": "application/json"},
    )
    assert answer.status_code == 200


def test_the_headers_let_the_browser_load_nothing_from_elsewhere(backend: InProcess) -> None:
    page = client(backend).get("/")
    assert page.status_code == 200
    assert "script-src 'self';" in page.headers["content-security-policy"]
    assert "'unsafe-inline'" not in page.headers["content-security-policy"]
    assert page.headers["x-content-type-options"] == "nosniff"
    for name in ("app.js", "api.js", "card.js", "dom.js", "theme.js", "style.css", "icon.svg"):
        assert client(backend).get(f"/static/{name}").status_code == 200


def test_only_the_documentation_may_run_its_inline_script(backend: InProcess) -> None:
    docs = client(backend).get("/docs")
    assert docs.status_code == 200
    assert "'unsafe-inline'" in docs.headers["content-security-policy"]
    assert "'unsafe-inline'" not in client(backend).get("/v1/docs/x").headers["content-security-policy"]


def test_a_refusal_is_never_cached_and_a_page_is_asked_for_again(backend: InProcess) -> None:
    assert client(backend).get("/v1/nothing").headers["cache-control"] == "no-store"
    assert client(backend).get("/v1/version").headers["cache-control"] == "no-cache"


def test_the_files_of_the_pages_are_in_the_packages() -> None:
    assert (Path(PAGE) / "index.html").is_file()
    assert (SWAGGER / "swagger-ui-bundle.js").is_file()
