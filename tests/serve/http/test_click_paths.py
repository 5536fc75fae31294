"""Clicks on interleaved answers, and what they say, over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from helpers.api_backend import InProcess, client
from starlette.testclient import TestClient

from cocite_serve.comparison.ledger import Comparison, Ledger, Pair
from cocite_serve.comparison.team_draft import Team
from cocite_serve.http.api import build_app
from cocite_serve.http.click_schemas import to_schema
from cocite_serve.settings import ServeSettings

PAIR = Pair("5f0c", "000001", "7a1d", "000002")


class Clicks:
    """A ledger behind the API."""

    def __init__(self) -> None:
        self.ledger = Ledger()

    async def register(self, token: str, pair: Pair, teams: Any) -> None:
        self.ledger.register(token, pair, teams)

    async def credit(self, token: str, paper: str) -> Team | None:
        return self.ledger.credit(token, paper)

    async def comparisons(self) -> list[Comparison]:
        return self.ledger.comparisons()


@pytest.fixture
def clicks() -> Clicks:
    clicks = Clicks()
    clicks.ledger.register("t", PAIR, {"a": "served", "b": "beside", "c": None})
    return clicks


@pytest.fixture
def lines() -> list[dict[str, Any]]:
    return []


@pytest.fixture
def served(backend: InProcess, clicks: Clicks, lines: list[dict[str, Any]]) -> TestClient:
    settings = ServeSettings(index=Path("unused"))
    app = build_app(lambda: backend, settings, log=lines.append, clicks=clicks)
    return TestClient(app, raise_server_exceptions=False)


def test_a_click_is_counted_once(served: TestClient, lines: list[dict[str, Any]]) -> None:
    for counted in (True, False):
        answer = served.post("/v1/click", json={"token": "t", "paper": "b"})
        assert (answer.status_code, answer.json()) == (200, {"counted": counted})
    assert served.post("/v1/click", json={"token": "t", "paper": "c"}).json() == {"counted": False}
    assert [line.get("credited") for line in lines] == ["beside", None, None]
    assert not any("token" in line or "paper" in line for line in lines)


@pytest.mark.parametrize(
    ("body", "status", "error", "field"),
    [
        ({"token": "u", "paper": "a"}, 404, "No interleaved answer has this token", "token"),
        ({"token": "t", "paper": "x"}, 422, "paper: the answer does not have this paper.", "paper"),
        ({"token": "t"}, 422, "paper: is required.", "paper"),
        ({"token": "", "paper": "a"}, 422, "token: string should have at least 1 character", "token"),
        ({"token": "t" * 65, "paper": "a"}, 422, "token: string should have at most 64 characters", "token"),
        ({"token": "t", "paper": "a", "text": "x"}, 422, "text: there is no such field", "text"),
    ],
)
def test_what_does_not_fit_is_named(
    served: TestClient, body: dict[str, Any], status: int, error: str, field: str
) -> None:
    answer = served.post("/v1/click", json=body)
    assert answer.status_code == status
    assert answer.json()["error"].startswith(error)
    assert answer.json()["field"] == field


def test_the_comparison_is_told_with_its_significance(served: TestClient, clicks: Clicks) -> None:
    served.post("/v1/click", json={"token": "t", "paper": "b"})
    [comparison] = served.get("/v1/comparison").json()["comparisons"]
    assert comparison["wins"] == comparison["clicks"] == {"served": 0, "beside": 1}
    assert (comparison["answers"], comparison["ties"], comparison["p"], comparison["share"]) == (
        1,
        0,
        1.0,
        1.0,
    )
    assert comparison["interval"] == [pytest.approx(0.025), 1.0]
    assert comparison == to_schema(clicks.ledger.comparisons()[0]).model_dump(mode="json")


def test_an_endpoint_that_interleaves_nothing_knows_no_token(backend: InProcess) -> None:
    answer = client(backend).post("/v1/click", json={"token": "t", "paper": "a"})
    assert (answer.status_code, answer.json()["error"]) == (404, "No answer of this endpoint is interleaved.")
    assert client(backend).get("/v1/comparison").json() == {"comparisons": []}
